// Owns: SQL in the editor, in the dialect of SQLite; names of views and columns are completed. Does not own: which there are.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { schemaCompletionSource, SQLite } from "@codemirror/lang-sql";
import { type Extension, Prec } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";

const THEME = EditorView.theme({
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "var(--radius)" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "2px 8px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--raised)" },
  ".cm-completionDetail": { color: "inherit", marginLeft: "1em" },
});

/** `schema`: view → columns. Keywords are not completed: at the end of a line, one would take the place of a name that begins like it. */
export const sqlLanguage = (schema: Readonly<Record<string, readonly string[]>>): Extension => [
  SQLite.extension,
  SQLite.language.data.of({ autocomplete: schemaCompletionSource({ dialect: SQLite, schema }) }),
  // Enter begins a line, unless a name was chosen with the arrow keys.
  autocompletion({ icons: false, selectOnOpen: false }),
  Prec.high(keymap.of([...completionKeymap])),
  THEME,
];
