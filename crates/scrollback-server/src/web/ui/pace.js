// Waits for a pause before something is fetched again, but not for ever.

/** Makes `fn` run once nobody has asked for `pause` milliseconds, and at the latest four pauses after the first did: { ask(), cancel() }. */
export function afterPause(fn, pause) {
  let timer = null;
  let latest = Infinity;
  const run = () => {
    latest = Infinity;
    fn();
  };
  return {
    ask() {
      clearTimeout(timer);
      latest = Math.min(latest, Date.now() + 4 * pause);
      timer = setTimeout(run, Math.min(pause, Math.max(0, latest - Date.now())));
    },
    cancel: () => clearTimeout(timer),
  };
}
