// Owns: a field for JSON, which says where it is none. Does not own: the field (code-editor.tsx).
import { useEffect, useRef } from "preact/hooks";
import { CodeEditor, type CodeEditorProps } from "./code-editor.tsx";
import type { CodeEditorView } from "./code-editor/codemirror.ts";

export interface JsonEditorProps extends Omit<CodeEditorProps, "language" | "problem" | "view"> {
  /** Values to underline, by JSON Pointers. */
  readonly marks?: readonly string[];
}

const NO_MARKS: readonly string[] = [];

const load = () => import("./code-editor/json.ts");
const language = async () => (await load()).jsonLanguage();

export function JsonEditor({ marks = NO_MARKS, ...props }: JsonEditorProps) {
  const { value, readOnly = false } = props;
  const view = useRef<CodeEditorView | undefined>(undefined);
  useEffect(() => {
    void load().then(({ markPaths }) => view.current?.apply(markPaths(marks)));
  }, [marks]);
  return <CodeEditor {...props} view={view} language={language} problem={readOnly || value.trim() === "" ? undefined : jsonError(value)} />;
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
