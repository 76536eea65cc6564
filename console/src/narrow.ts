// Owns: whether the window is as narrow as a phone's: 720 px, as in the style sheets.
import { signal } from "@preact/signals";

const narrow = matchMedia("(max-width: 720px)");

export const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", ({ matches }) => (isNarrow.value = matches));
