// Owns: CodeMirror, set up for JSON. In a shadow root, where it adopts its style sheets; in the document it would need inline styles, which
// the page's policy forbids.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState, type Extension, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export interface JsonEditorView {
  /** Replaces the text, unless it is that text already. */
  show(text: string): void;
  close(): void;
}

const THEME = EditorView.theme({
  "&": { fontSize: "12.5px", color: "var(--text)", backgroundColor: "transparent", minHeight: "inherit" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px", borderRadius: "var(--radius)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", maxHeight: "60vh", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "6px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--dim)", border: "none" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--text) 4%, transparent)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent) !important",
  },
  ".cm-matchingBracket": { backgroundColor: "transparent !important" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--accent) 22%, transparent) !important" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--panel)", border: "1px solid var(--line)", color: "var(--dim)" },
});

const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warning)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

export interface JsonEditorSetup {
  readonly label: string;
  readonly value: string;
  readonly readOnly: boolean;
  readonly onChange: (text: string) => void;
  readonly onSubmit: () => void;
}

/** Tab leaves the field, as everywhere on the page. */
export function openJsonEditor(host: HTMLElement, { label, value, readOnly, onChange, onSubmit }: JsonEditorSetup): JsonEditorView {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const submit = (): boolean => {
    onSubmit();
    return true;
  };
  const extensions: Extension[] = [
    json(),
    syntaxHighlighting(COLOURS),
    bracketMatching(),
    foldGutter(),
    drawSelection(),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
    Prec.highest(keymap.of([{ key: "Mod-Enter", run: submit }])),
    keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged && !shown) onChange(update.state.doc.toString());
    }),
    THEME,
  ];
  if (readOnly) extensions.push(EditorState.readOnly.of(true));
  else extensions.push(history(), indentOnInput(), highlightActiveLine());
  // True while the text comes from outside: that is no change by the user.
  let shown = false;
  const view = new EditorView({ root, parent: root, state: EditorState.create({ doc: value, extensions }) });
  return {
    show(text) {
      if (text === view.state.doc.toString()) return;
      shown = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      shown = false;
    },
    close: () => view.destroy(),
  };
}
