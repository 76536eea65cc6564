// Owns: short messages about what was done, in a corner, read by screen readers. Does not own: errors of a page (states.tsx).
import { signal } from "@preact/signals";

interface Toast {
  readonly n: number;
  readonly text: string;
  readonly level: "done" | "failed";
}

const SHOWN_MS = 6_000;
const toasts = signal<readonly Toast[]>([]);
let last = 0;

export function toast(text: string, level: Toast["level"] = "done"): void {
  last += 1;
  const n = last;
  toasts.value = [...toasts.value, { n, text, level }];
  setTimeout(() => (toasts.value = toasts.value.filter((one) => one.n !== n)), SHOWN_MS);
}

export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map(({ n, text, level }) => (
      <div key={n} class={`toast ${level}`}>
        {text}
      </div>
    ))}
  </div>
);
