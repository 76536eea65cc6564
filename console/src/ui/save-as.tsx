// Owns: the button that saves something under a name, and the field for it. Does not own: what is saved.
import { useSignal } from "@preact/signals";

export function SaveAs({
  what,
  name,
  onSave,
}: {
  /** `saved call`, for screen readers. */
  readonly what: string;
  /** That the field has at first. */
  readonly name: string;
  readonly onSave: (name: string) => void;
}) {
  const naming = useSignal(false);
  const title = useSignal("");
  const done = (): void => {
    naming.value = false;
    if (title.value.trim() !== "") onSave(title.value.trim());
  };
  if (!naming.value)
    return (
      <button
        type="button"
        onClick={() => {
          title.value = name;
          naming.value = true;
        }}
      >
        Save …
      </button>
    );
  return (
    <span class="row">
      <input
        aria-label={`Name of the ${what}`}
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- it appears when its button is pressed
        autofocus
        value={title.value}
        onInput={(event) => (title.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") naming.value = false;
          if (event.key !== "Enter") return;
          event.preventDefault();
          done();
        }}
      />
      <button type="button" onClick={done}>
        Save
      </button>
    </span>
  );
}
