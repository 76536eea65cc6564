// Owns: CodeMirror, set up for any language. In a shadow root, where it adopts its style sheets; in the document it would need inline
// styles, which the page's policy forbids.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState, type Extension, Prec, type StateEffect } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export interface CodeEditorView {
  /** Replaces the text, unless it is that text already. */
  show(text: string): void;
  /** Puts the text in the place of what is selected, and the focus behind it. */
  insert(text: string): void;
  /** Selects from there to the end of the word. */
  select(at: number): void;
  /** Of the language. */
  apply(effect: StateEffect<unknown>): void;
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
  ".cm-misfit": {
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
    backgroundColor: "color-mix(in srgb, var(--bad) 12%, transparent)",
  },
  ".cm-foldPlaceholder": { backgroundColor: "var(--panel)", border: "1px solid var(--line)", color: "var(--dim)" },
});

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.keyword], color: "var(--accent)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warning)" },
  { tag: tags.comment, color: "var(--dim)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

export interface EditorSetup {
  readonly label: string;
  readonly value: string;
  readonly readOnly: boolean;
  readonly language: Extension;
  readonly onChange: (text: string) => void;
  readonly onSubmit: () => void;
}

/** The browser would give typed text the colour of what it replaces, as an inline style, which the page's policy forbids. */
const TYPED_OVER = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data } = event;
    if (inputType !== "insertText" || data === null || view.composing || view.state.selection.main.empty || view.state.readOnly)
      return false;
    view.dispatch({ ...view.state.replaceSelection(data), userEvent: "input.type", scrollIntoView: true });
    event.preventDefault();
    return true;
  },
});

/** Tab leaves the field, as everywhere on the page. */
export function openEditor(host: HTMLElement, { label, value, readOnly, language, onChange, onSubmit }: EditorSetup): CodeEditorView {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const submit = (): boolean => {
    onSubmit();
    return true;
  };
  const extensions: Extension[] = [
    language,
    syntaxHighlighting(COLOURS),
    bracketMatching(),
    drawSelection(),
    TYPED_OVER,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
    Prec.highest(keymap.of([{ key: "Mod-Enter", run: submit }])),
    keymap.of([...defaultKeymap, ...historyKeymap]),
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
    insert(text) {
      view.dispatch(view.state.replaceSelection(text));
      view.focus();
    },
    select(at) {
      const { doc } = view.state;
      const anchor = Math.min(at, doc.length);
      view.dispatch({ selection: { anchor, head: view.state.wordAt(anchor)?.to ?? anchor }, scrollIntoView: true });
      view.focus();
    },
    apply: (effect) => view.dispatch({ effects: effect }),
    close: () => view.destroy(),
  };
}
