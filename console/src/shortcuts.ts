// Owns: keys that work on every page, and which page each letter opens. Does not own: the palette and the help (ui/).
import { NAVIGATION } from "./navigation.ts";

/** After `g`. */
const LETTERS: Readonly<Record<string, string>> = {
  "/": "o",
  "/actors": "a",
  "/history": "h",
  "/causes": "c",
  "/query": "q",
  "/traffic": "t",
  "/playground": "p",
  "/letters": "l",
  "/timers": "i",
  "/outbox": "x",
  "/tasks": "k",
  "/sessions": "s",
  "/guests": "u",
  "/packets": "b",
  "/log": "j",
  "/doctor": "d",
};

export const letterOf = (path: string): string | undefined => LETTERS[path];

export const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

const SEQUENCE_MS = 1_500;

export interface ShortcutActions {
  readonly open: (path: string) => void;
  readonly palette: () => void;
  readonly help: () => void;
}

/** Listens until the returned function is called. */
export function listenForShortcuts({ open, palette, help }: ShortcutActions): () => void {
  let began = -SEQUENCE_MS;
  const press = (event: KeyboardEvent): void => {
    if (event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey) && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      palette();
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented || isTyping(event)) return;
    const isSecond = event.timeStamp - began < SEQUENCE_MS;
    began = -SEQUENCE_MS;
    const page = isSecond ? NAVIGATION.find(({ path }) => letterOf(path) === event.key) : undefined;
    if (page !== undefined) open(page.path);
    else if (event.key === "g") began = event.timeStamp;
    else if (event.key === "?") help();
    else if (event.key === "/") {
      const field = document.querySelector("main input[type=search]");
      if (!(field instanceof HTMLInputElement)) return;
      field.focus();
      field.select();
    } else return;
    event.preventDefault();
  };
  addEventListener("keydown", press);
  return () => removeEventListener("keydown", press);
}

/** Keys then belong to the field, the editor or the dialog. */
function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName) || target.closest("dialog") !== null;
}
