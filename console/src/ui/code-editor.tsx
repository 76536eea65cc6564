// Owns: a field for code. A plain text area until the editor's chunk is loaded, and wherever it cannot be. Does not own: the editor
// (code-editor/codemirror.ts), and its languages.
import type { Extension } from "@codemirror/state";
import { type MutableRef, useEffect, useId, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { CodeEditorView } from "./code-editor/codemirror.ts";
import "./code-editor.css";

export interface CodeEditorProps {
  readonly label: string;
  /** The label is for screen readers only. */
  readonly hideLabel?: true;
  readonly value: string;
  readonly onChange?: (text: string) => void;
  /** Ctrl or Command with Enter. */
  readonly onSubmit?: () => void;
  readonly readOnly?: boolean;
  /** Lines that are visible at least; default 5. */
  readonly lines?: number;
  /** What is wrong with the text. */
  readonly problem?: string | undefined;
  /** Loads the language's chunk. */
  readonly language: () => Promise<Extension>;
  /** The editor, once it is loaded. */
  readonly view?: MutableRef<CodeEditorView | undefined>;
}

export function CodeEditor({
  label,
  hideLabel,
  value,
  onChange,
  onSubmit,
  readOnly = false,
  lines = 5,
  problem,
  language,
  view: outer,
}: CodeEditorProps) {
  const id = useId();
  const host = useRef<HTMLDivElement>(null);
  const own = useRef<CodeEditorView | undefined>(undefined);
  const view = outer ?? own;
  const loaded = useSignal(false);
  const latest = useRef({ value, onChange, onSubmit });
  latest.current = { value, onChange, onSubmit };
  // What the editor itself has reported, until it comes back as `value`: by then more may have been typed, which must stay.
  const reported = useRef<string[]>([]);
  useEffect(() => {
    let closed = false;
    void Promise.all([import("./code-editor/codemirror.ts"), language()]).then(([{ openEditor }, extension]) => {
      if (closed || host.current === null) return;
      loaded.value = true;
      view.current = openEditor(host.current, {
        label,
        value: latest.current.value,
        readOnly,
        language: extension,
        onChange(text) {
          reported.current.push(text);
          latest.current.onChange?.(text);
        },
        onSubmit: () => latest.current.onSubmit?.(),
      });
    });
    return () => {
      closed = true;
      view.current?.close();
      view.current = undefined;
    };
  }, [label, readOnly, loaded, language, view]);
  useEffect(() => {
    const at = reported.current.indexOf(value);
    reported.current = at === -1 ? [] : reported.current.slice(at + 1);
    if (at === -1) view.current?.show(value);
  }, [value, view]);
  const height = { minHeight: `${lines * 1.5 + 1}em` };
  return (
    <div class="code-editor">
      {hideLabel === true ? null : <span class="label">{label}</span>}
      <div class={`code-editor-box ${problem === undefined ? "" : "wrong"}`} style={height}>
        <div ref={host} style={height} hidden={!loaded.value} />
        {loaded.value ? null : (
          <textarea
            aria-label={label}
            aria-describedby={id}
            readOnly={readOnly}
            spellcheck={false}
            class="mono"
            style={height}
            value={value}
            onInput={(event) => onChange?.(event.currentTarget.value)}
          />
        )}
      </div>
      <p id={id} class="code-editor-error" role="status">
        {problem}
      </p>
    </div>
  );
}
