// Owns: loading a list anew, by hand or every few seconds while no one reads it.
import { useEffect, useRef } from "preact/hooks";
import { paused } from "../../stream.ts";

export const RefreshButton = ({ reload, changed = false }: { readonly reload: () => void; readonly changed?: boolean }) => (
  <button type="button" class={changed ? "small primary" : "small"} onClick={reload}>
    {changed ? "Changed: refresh" : "Refresh"}
  </button>
);

/** Loads anew every few seconds, but not in a hidden tab, in a pause, nor while the pointer is over a table: nothing jumps while it is read. */
export function usePolling(reload: () => void, everyMs = 5_000): void {
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.hidden || paused.value || document.querySelector(".table:hover, dialog[open]") !== null) return;
      latest.current();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}
