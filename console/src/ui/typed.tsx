// Owns: text fields whose value is used a moment after the last key, so that a request is not sent for each.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";

const PAUSE_MS = 250;

export function TypedInput({
  value,
  onCommit,
  ...rest
}: Omit<JSX.InputHTMLAttributes, "value" | "onInput" | "onChange"> & {
  readonly value: string;
  readonly onCommit: (value: string) => void;
}) {
  const typed = useSignal<string | undefined>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef(onCommit);
  latest.current = onCommit;
  const commit = (): void => {
    clearTimeout(timer.current);
    const next = typed.value;
    typed.value = undefined;
    if (next !== undefined) latest.current(next);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      {...rest}
      value={typed.value ?? value}
      onInput={({ currentTarget }) => {
        typed.value = currentTarget.value;
        clearTimeout(timer.current);
        timer.current = setTimeout(commit, PAUSE_MS);
      }}
      // Not onChange: where preact/compat is loaded, that is at each key.
      onBlur={commit}
      onKeyDown={({ key }) => {
        if (key === "Enter") commit();
      }}
    />
  );
}
