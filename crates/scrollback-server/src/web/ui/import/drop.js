// Where files are dropped or chosen. While one is dragged over the page the whole page takes it.
import { h } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../i18n.js';

/** The field; `take(files)` gets what was given, until it is left. */
export function dropZone(take, onLeave) {
  const field = h('input', { class: 'hidden', id: 'import-files', type: 'file', multiple: true, accept: '.json,.jsonl,.ndjson,.txt,.zip,application/json,application/zip', on: { change: chosen } });
  const node = h('label', { class: 'drop', for: 'import-files' }, field, icon('import'), h('strong', {}, t('import.drop')), h('span', { class: 'muted' }, t('import.choose')));
  function chosen() {
    take([...field.files]);
    field.value = '';
  }
  const mark = (isOver) => node.classList.toggle('over', isOver);
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes('Files');
  const over = (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = 'copy';
    mark(true);
  };
  const drop = (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(false);
    take([...event.dataTransfer.files]);
  };
  const out = (event) => { if (!event.relatedTarget) mark(false); };
  const events = { dragover: over, drop, dragleave: out };
  for (const [name, fn] of Object.entries(events)) {
    addEventListener(name, fn);
    onLeave(() => removeEventListener(name, fn));
  }
  return node;
}
