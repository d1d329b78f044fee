// Where a reader was on each page of the tab's history, so that whoever goes back finds it as they left it. The pages'
// addresses say what is shown; what is kept here says how far somebody had read in it.
const spots = new Map();
let step = null;

/** A step of the history is shown: gives what was kept of it, or null. */
export function arrive() {
  step = history.state?.step ?? null;
  if (!step) {
    step = Math.random();
    history.replaceState({ step }, '');
  }
  return spots.get(step) ?? null;
}

/** Keeps it for the step that is shown. */
export const keepSpot = (spot) => spots.set(step, spot);
