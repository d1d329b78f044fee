// The one place where HTML of our own server (Markdown, already made safe there) comes in: a second wall.
// It is parsed apart, and only known tags and attributes are copied into fresh elements.
const TAGS = new Set(('p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del a table thead tbody tr th td '
  + 'hr br input sup').split(' '));
const DROPPED = new Set(['SCRIPT', 'STYLE', 'TEMPLATE', 'IFRAME', 'OBJECT', 'SVG', 'MATH', 'NOSCRIPT', 'TEXTAREA', 'TITLE']);
const ALIGN = /^(left|right|center)$/;
// Browsers that know trusted types let no other string be parsed on this page: the server's policy names this one alone.
const POLICY = globalThis.trustedTypes?.createPolicy('scrollback', { createHTML: (text) => text }) ?? { createHTML: (text) => text };

/** Replaces what is in `node` by what `text` says, as far as it is allowed. */
export function html(node, text) {
  const parsed = new DOMParser().parseFromString(POLICY.createHTML(text ?? ''), 'text/html');
  const fresh = document.createDocumentFragment();
  copy(parsed.body, fresh);
  // Each piece is laid out the way its first letter is written; what is inside follows in markdown.css.
  for (const piece of fresh.children) if (piece.localName !== 'pre') piece.dir = 'auto';
  node.replaceChildren(fresh);
  return node;
}

function copy(from, to) {
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) to.append(child.data);
    if (child.nodeType !== Node.ELEMENT_NODE || DROPPED.has(child.tagName.toUpperCase())) continue;
    const place = TAGS.has(child.localName) ? element(child) : null;
    if (place) to.append(place);
    copy(child, place ?? to);
  }
}

function element(from) {
  const node = document.createElement(from.localName);
  const rule = RULES[from.localName];
  return rule ? rule(node, from) : node;
}

const RULES = {
  a: link,
  code: language,
  pre: language,
  th: align,
  td: align,
  ol(node, from) {
    const start = Number.parseInt(from.getAttribute('start') ?? '', 10);
    if (Number.isInteger(start)) node.setAttribute('start', start);
    return node;
  },
  input(node, from) {
    if (from.getAttribute('type') !== 'checkbox') return null;
    node.type = 'checkbox';
    node.disabled = true;
    node.checked = from.hasAttribute('checked');
    node.setAttribute('aria-label', node.checked ? '✓' : '–');
    return node;
  },
};

function link(node, from) {
  const href = from.getAttribute('href') ?? '';
  if (!/^(https?:|mailto:)/i.test(href)) return node;
  node.setAttribute('href', href);
  node.setAttribute('rel', 'noopener noreferrer nofollow');
  node.setAttribute('target', '_blank');
  return node;
}

function language(node, from) {
  const name = /(?:^|\s)(language-[\w+#.-]+)/.exec(from.getAttribute('class') ?? '');
  if (name) node.className = name[1];
  return node;
}

function align(node, from) {
  const word = from.getAttribute('align') ?? /(?:^|\s)align-(\w+)/.exec(from.getAttribute('class') ?? '')?.[1]
    ?? /text-align:\s*(\w+)/.exec(from.getAttribute('style') ?? '')?.[1] ?? '';
  if (ALIGN.test(word)) node.className = `align-${word}`;
  return node;
}
