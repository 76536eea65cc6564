// Owns: the panel next to a list, with the details of the row that is open. Escape closes it.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import "./panel.css";

export function Panel({
  title,
  label,
  onClose,
  children,
}: {
  readonly title: ComponentChildren;
  /** For screen readers. */
  readonly label: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      // A dialog or a menu that is open is closed first.
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]") !== null) return;
      close.current();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  return (
    <aside class="panel" aria-label={label}>
      <div class="panel-head">
        <h2>{title}</h2>
        <button type="button" class="small quiet" aria-label="Close the details" onClick={onClose}>
          ✕
        </button>
      </div>
      <div class="panel-body">{children}</div>
    </aside>
  );
}

/** A list, and next to it the panel, where one is open. */
export const Split = ({
  panel,
  live = false,
  children,
}: {
  readonly panel: ComponentChildren;
  /** The list is as high as the window. */
  readonly live?: boolean;
  readonly children: ComponentChildren;
}) => (
  <div class={`split${live ? " live" : ""}${panel === undefined ? "" : " two"}`}>
    {children}
    {panel}
  </div>
);
