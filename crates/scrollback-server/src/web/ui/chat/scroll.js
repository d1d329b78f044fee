// Keeps what a reader sees where it is while things come and go around it.

/** Makes a change and puts the scroll position so that the first thing in sight stays in its place. */
export function keepPlace(scroller, list, change) {
  const top = scroller.getBoundingClientRect().top;
  const anchor = [...list.children].find((child) => child.getBoundingClientRect().bottom > top + 1);
  const before = anchor?.getBoundingClientRect().top;
  change();
  if (anchor?.isConnected) scroller.scrollTop += anchor.getBoundingClientRect().top - before;
}

/** Whoever reads the end stays there while things grow; who scrolls away is left alone: { stick, release, follows, leave }. */
export function followEnd(scroller, parts, isAtEnd) {
  let follows = false;
  let height = 0;
  const stick = () => {
    follows = true;
    scroller.scrollTop = scroller.scrollHeight;
  };
  const watch = new ResizeObserver(() => {
    if (follows) stick();
    height = scroller.scrollHeight - scroller.clientHeight;
  });
  [scroller, ...parts].forEach((part) => watch.observe(part));
  // A scroll that comes with a change of size is not the reader's.
  scroller.addEventListener('scroll', () => {
    if (scroller.scrollHeight - scroller.clientHeight === height) follows = isAtEnd();
  }, { passive: true });
  return { stick, release: () => { follows = false; }, follows: () => follows, leave: () => watch.disconnect() };
}
