// Owns: dialogs with a form of their own. Does not own: plain questions (confirm.tsx).
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import "./dialog.css";

export function Dialog({
  title,
  close,
  submit,
  children,
}: {
  readonly title: string;
  readonly close: () => void;
  readonly submit: () => void;
  /** Its fields; a `div.row.end` with the buttons at last, one of them of the type `submit`. */
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <h2 id={id}>{title}</h2>
        {children}
      </form>
    </dialog>
  );
}
