// Owns: a field for JSON. A plain text area until the editor's chunk is loaded, and wherever it cannot be. Does not own: the editor
// (json-editor/codemirror.ts).
import { useEffect, useId, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { JsonEditorView } from "./json-editor/codemirror.ts";
import "./json-editor.css";

export interface JsonEditorProps {
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
  /** Values to underline, by JSON Pointers. */
  readonly marks?: readonly string[];
}

const NO_MARKS: readonly string[] = [];

export function JsonEditor({
  label,
  hideLabel,
  value,
  onChange,
  onSubmit,
  readOnly = false,
  lines = 5,
  marks = NO_MARKS,
}: JsonEditorProps) {
  const id = useId();
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<JsonEditorView | undefined>(undefined);
  const loaded = useSignal(false);
  const latest = useRef({ value, onChange, onSubmit });
  latest.current = { value, onChange, onSubmit };
  // What the editor itself has reported, until it comes back as `value`: by then more may have been typed, which must stay.
  const reported = useRef<string[]>([]);
  useEffect(() => {
    let closed = false;
    void import("./json-editor/codemirror.ts").then(({ openJsonEditor }) => {
      if (closed || host.current === null) return;
      loaded.value = true;
      view.current = openJsonEditor(host.current, {
        label,
        value: latest.current.value,
        readOnly,
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
    };
  }, [label, readOnly, loaded]);
  useEffect(() => {
    const at = reported.current.indexOf(value);
    reported.current = at === -1 ? [] : reported.current.slice(at + 1);
    if (at === -1) view.current?.show(value);
  }, [value]);
  useEffect(() => view.current?.mark(marks), [marks]);
  const wrong = readOnly || value.trim() === "" ? undefined : jsonError(value);
  const height = { minHeight: `${lines * 1.5 + 1}em` };
  return (
    <div class="json-editor">
      {hideLabel === true ? null : <span class="label">{label}</span>}
      <div class={`json-editor-box ${wrong === undefined ? "" : "wrong"}`} style={height}>
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
      <p id={id} class="json-editor-error" role="status">
        {wrong}
      </p>
    </div>
  );
}

/** Why the text is no JSON, and where. Undefined: it is. */
function jsonError(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const at = /position (\d+)/.exec(message)?.[1];
    if (at === undefined) return message;
    const before = text.slice(0, Number(at)).split("\n");
    return `Line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${message.replace(/ in JSON at position .*| at position .*/, "")}.`;
  }
}
