// Owns: a button with which the user chooses a JSON file. Does not own: reading it.
import { useRef } from "preact/hooks";

export function FileButton({
  text,
  label,
  onFile,
}: {
  readonly text: string;
  /** What the file is, for screen readers. */
  readonly label: string;
  readonly onFile: (file: File) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class="small" onClick={() => input.current?.click()}>
        {text}
      </button>
      <input
        ref={input}
        type="file"
        accept="application/json,.json"
        aria-label={label}
        hidden
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? [];
          if (file !== undefined) onFile(file);
          // The same file can be chosen again.
          currentTarget.value = "";
        }}
      />
    </>
  );
}
