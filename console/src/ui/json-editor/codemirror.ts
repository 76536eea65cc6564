// Owns: CodeMirror, set up for JSON. In a shadow root, where it adopts its style sheets; in the document it would need inline styles, which
// the page's policy forbids.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import {
  bracketMatching,
  ensureSyntaxTree,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
  syntaxTree,
} from "@codemirror/language";
import { EditorState, type Extension, Prec, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, drawSelection, EditorView, highlightActiveLine, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export interface JsonEditorView {
  /** Replaces the text, unless it is that text already. */
  show(text: string): void;
  /** Underlines the values at these JSON Pointers, or what is nearest to one that is missing. They move with the text. */
  mark(paths: readonly string[]): void;
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

const setMarks = StateEffect.define<readonly string[]>();
const MISFIT = Decoration.mark({ class: "cm-misfit" });

const MARKS = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, { changes, effects, state }) {
    const paths = effects.findLast((effect) => effect.is(setMarks))?.value;
    return paths === undefined
      ? marks.map(changes)
      : Decoration.set(
          paths.flatMap((path) => markAt(state, path)),
          true,
        );
  },
  provide: (field) => EditorView.decorations.from(field),
});

type SyntaxNode = ReturnType<typeof syntaxTree>["topNode"];

/** How long parsing a long text may take. */
const PARSE_MS = 200;

function markAt(state: EditorState, path: string) {
  const tree = ensureSyntaxTree(state, state.doc.length, PARSE_MS) ?? syntaxTree(state);
  let node: SyntaxNode | null = tree.topNode.firstChild;
  for (const step of path.split("/").slice(1)) {
    const next = node === null ? null : memberOf(node, step.replaceAll("~1", "/").replaceAll("~0", "~"), state);
    if (next === null) break;
    node = next;
  }
  if (node === null) return [];
  // Of a long value its first line.
  const to = Math.min(node.to, state.doc.lineAt(node.from).to);
  return node.from === to ? [] : [MISFIT.range(node.from, to)];
}

const PUNCTUATION = new Set(["[", "]", "{", "}", ",", ":", "⚠"]);

function memberOf(node: SyntaxNode, key: string, state: EditorState): SyntaxNode | null {
  if (node.name === "Array") {
    let at = 0;
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      if (PUNCTUATION.has(child.name)) continue;
      if (String(at) === key) return child;
      at += 1;
    }
    return null;
  }
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    const name = child.name === "Property" ? child.firstChild : null;
    if (name !== null && state.sliceDoc(name.from, name.to) === JSON.stringify(key)) return child.lastChild;
  }
  return null;
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
    MARKS,
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
    mark(paths) {
      view.dispatch({ effects: setMarks.of(paths) });
    },
    close: () => view.destroy(),
  };
}
