// Makes elements. No string is ever parsed as HTML here; what the server renders from Markdown
// comes in through `html` of sanitize.js alone.
const SVG = 'http://www.w3.org/2000/svg';

/** An element: h('button', { class: 'x', on: { click } }, 'text', child). */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/** Takes all children away. */
export function clear(node) {
  node.replaceChildren();
  return node;
}

/** Puts new children in place of the old ones. */
export function put(node, ...children) {
  node.replaceChildren();
  add(node, children);
  return node;
}

/** Like `put`; what had the focus has it again, or what stands in its place now. */
export function putAgain(node, ...children) {
  const refocus = focusOf(node);
  put(node, ...children);
  refocus(node);
  return node;
}

/** Puts a node in the place of one that it draws anew: what was open in it is open, and focus is as with `putAgain`. */
export function replaceAgain(node, fresh) {
  const refocus = focusOf(node);
  const opened = [...node.querySelectorAll('details')].map((one) => one.open);
  [...fresh.querySelectorAll('details')].forEach((one, at) => { one.open = Boolean(opened[at]); });
  node.replaceWith(fresh);
  refocus(fresh);
}

function focusOf(node) {
  const all = (root) => [...root.querySelectorAll('a, button, select, summary, [tabindex="0"]')];
  const at = all(node).indexOf(document.activeElement);
  const held = at < 0 ? null : calledLike(document.activeElement);
  return (root) => { if (held) (all(root).find((one) => calledLike(one) === held) ?? all(root)[at] ?? all(root).at(-1))?.focus({ preventScroll: true }); };
}

const calledLike = (node) => `${node.localName} ${node.getAttribute('href') ?? node.getAttribute('aria-label') ?? (node.title || node.textContent)}`;

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) set(node, name, value);
  add(node, children);
  return node;
}

function set(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === 'on') {
    for (const [event, fn] of Object.entries(value)) node.addEventListener(event, fn);
  } else if (name === 'dataset') {
    Object.assign(node.dataset, value);
  } else if (name === 'value' || name === 'checked' || name === 'selected') {
    node[name] = value;
  } else {
    node.setAttribute(name, value === true ? '' : String(value));
  }
}

function add(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(node, child);
    else node.append(child instanceof Node ? child : String(child));
  }
}

export { html } from './sanitize.js';
