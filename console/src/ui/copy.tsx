// Owns: copying text to the clipboard.
import { toast } from "./toasts.tsx";

/** Says so in a toast, or why it failed. */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    // Absent on a page that was loaded over HTTP from another machine.
    if ("clipboard" in navigator) await navigator.clipboard.writeText(text);
    else copyBySelection(text);
    toast(`Copied ${what}.`);
  } catch {
    toast(`The browser did not let the page copy ${what}.`, "failed");
  }
}

function copyBySelection(text: string): void {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "off-screen";
  document.body.append(field);
  field.select();
  // oxlint-disable-next-line typescript/no-deprecated -- there is no other way without a secure context
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Error("not copied");
}

export const CopyButton = ({
  text,
  what,
  label = "Copy",
}: {
  readonly text: string | (() => string);
  /** `the value`, for the toast and for screen readers. */
  readonly what: string;
  readonly label?: string;
}) => (
  <button
    type="button"
    class="small quiet"
    aria-label={`Copy ${what}`}
    onClick={() => void copyText(typeof text === "string" ? text : text(), what)}
  >
    {label}
  </button>
);
