// Owns: JSON in the editor, and the marks under its values. Does not own: the editor (codemirror.ts).
import { json } from "@codemirror/lang-json";
import { ensureSyntaxTree, foldGutter, foldKeymap, syntaxTree } from "@codemirror/language";
import { type EditorState, type Extension, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, keymap } from "@codemirror/view";

export const jsonLanguage = (): Extension => [json(), foldGutter(), keymap.of([...foldKeymap]), MARKS];

/** Underlines the values at these JSON Pointers, or what is nearest to one that is missing. They move with the text. */
export const markPaths = (paths: readonly string[]): StateEffect<readonly string[]> => setMarks.of(paths);

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
