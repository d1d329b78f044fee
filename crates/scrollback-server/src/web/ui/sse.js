// Reads a text/event-stream from bytes: split UTF-8, any line ending, data over several lines.

/** Calls `onEvent({ name, data })` for each event of a response body until it ends, and `onCut(error)` where it breaks off. */
export async function readEvents(body, onEvent, onCut) {
  const reader = body.getReader();
  const parser = eventParser(onEvent);
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read().catch(onCut);
    parser(done ? decoder.decode() : decoder.decode(value, { stream: true }), done);
    if (done) return;
  }
}

/** A function that takes text as it comes and tells the events in it. */
export function eventParser(onEvent) {
  let rest = '';
  let name = '';
  let lines = [];
  const end = () => {
    if (lines.length) onEvent({ name: name || 'message', data: read(lines.join('\n')) });
    name = '';
    lines = [];
  };
  const line = (text) => {
    if (text === '') return end();
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(text);
    if (field === 'event') name = value;
    if (field === 'data') lines.push(value);
  };
  return (text, last) => {
    rest += text;
    // A CR at the very end may be the first half of a CRLF: it waits for the next piece.
    const whole = last || !rest.endsWith('\r') ? rest : rest.slice(0, -1);
    const parts = whole.split(/\r\n|\n|\r/);
    rest = parts.pop() + rest.slice(whole.length);
    parts.forEach(line);
    if (last && rest) line(rest);
    if (last) end();
  };
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
