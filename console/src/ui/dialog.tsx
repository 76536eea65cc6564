// Owns: dialogs: modal, closed by Escape, and the focus then returns to where it was. Does not own: plain questions (confirm.tsx).
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import "./dialog.css";

/** A modal dialog, open for as long as it is rendered. Its name is `label`, or the text of the element with the id `labelledBy`. */
export function Modal({
  class: name,
  label,
  labelledBy,
  describedBy,
  close,
  closeOutside = false,
  focusOn,
  children,
}: {
  readonly class: string;
  readonly label?: string;
  readonly labelledBy?: string;
  readonly describedBy?: string | undefined;
  readonly close: () => void;
  /** A click outside closes it, too. It must have no padding. */
  readonly closeOutside?: boolean;
  /** A selector of the element that gets the focus. Default: the first that can have it. */
  readonly focusOn?: string | undefined;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const latest = useRef(close);
  latest.current = close;
  // Before the next key: it belongs to the dialog.
  useLayoutEffect(() => {
    const own = dialog.current;
    if (own === null) return undefined;
    own.showModal();
    const first = focusOn === undefined ? null : own.querySelector(focusOn);
    if (first instanceof HTMLElement) first.focus();
    const press = (event: MouseEvent): void => {
      if (closeOutside && event.target === own) latest.current();
    };
    own.addEventListener("click", press);
    return () => {
      own.removeEventListener("click", press);
      // Returns the focus, which a dialog that is only removed does not.
      own.close();
    };
  }, [closeOutside, focusOn]);
  return (
    <dialog
      ref={dialog}
      class={name}
      aria-label={label}
      aria-labelledby={labelledBy}
      aria-describedby={describedBy}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
    >
      {children}
    </dialog>
  );
}

/** A dialog with a form. */
export function Dialog({
  title,
  context,
  description,
  focusOn,
  noValidate = false,
  close,
  submit,
  children,
}: {
  readonly title: string;
  /** A few words above the title. */
  readonly context?: string;
  /** What will happen, in a sentence or two. */
  readonly description?: string;
  readonly focusOn?: string;
  /** Its fields are not checked by the browser. */
  readonly noValidate?: boolean;
  readonly close: () => void;
  readonly submit: () => void;
  /** Its fields; last a `div.row.end` with the buttons, one of them of the type `submit`. */
  readonly children: ComponentChildren;
}) {
  const id = useId();
  return (
    <Modal
      class="dialog"
      labelledBy={id}
      describedBy={description === undefined ? undefined : `${id}-description`}
      focusOn={focusOn}
      close={close}
    >
      <form
        noValidate={noValidate}
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        {context === undefined ? null : <small class="dim">{context}</small>}
        <h2 id={id}>{title}</h2>
        {description === undefined ? null : (
          <p class="dim" id={`${id}-description`}>
            {description}
          </p>
        )}
        {children}
      </form>
    </Modal>
  );
}
