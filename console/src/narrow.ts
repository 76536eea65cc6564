// Owns: whether the window is too narrow for wide tables and drawings. Does not own: layouts that styles alone decide.
import { type ReadonlySignal, signal } from "@preact/signals";

/** As in table.css and panel.css, where details cover the list. */
export const isNarrow = isAtMost(1000);
/** A list next to its details has room for few columns. */
export const isTight = isAtMost(1200);

function isAtMost(px: number): ReadonlySignal<boolean> {
  const query = matchMedia(`(max-width: ${px}px)`);
  const matches = signal(query.matches);
  query.addEventListener("change", (event) => (matches.value = event.matches));
  return matches;
}
