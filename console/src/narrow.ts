// Owns: whether the window is too narrow for wide tables and drawings: as in table.css and panel.css, where details cover the list.
import { signal } from "@preact/signals";

const narrow = matchMedia("(max-width: 1000px)");

export const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", ({ matches }) => (isNarrow.value = matches));
