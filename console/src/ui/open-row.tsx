// Owns: which row of a list has its details open, in the address as `open`, and the button that opens it. Does not own: the details (panel.tsx).
import type { ComponentChildren } from "preact";
import { useParameter } from "../page-state.ts";

export interface OpenRow {
  /** Empty: none is open. */
  readonly key: string;
  readonly toggle: (key: string) => void;
  readonly close: () => void;
}

export function useOpenRow(): OpenRow {
  const [key, set] = useParameter("open");
  return { key, toggle: (next) => set(next === key ? "" : next), close: () => set("") };
}

/** For the keyboard; a click anywhere in the row does the same. */
export const OpenButton = ({
  of,
  open,
  mono = false,
  children,
}: {
  /** The row's key. */
  readonly of: string;
  readonly open: OpenRow;
  readonly mono?: boolean;
  readonly children: ComponentChildren;
}) => (
  <button type="button" class={mono ? "link plain mono" : "link plain"} aria-expanded={of === open.key} onClick={() => open.toggle(of)}>
    {children}
  </button>
);
