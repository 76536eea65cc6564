// Owns: saying whether a page is live, and pausing it. Does not own: the connection (stream.ts).
import type { Signal } from "@preact/signals";
import { connection, paused } from "../stream.ts";
import "./live-state.css";

const WORDS = { idle: "not live", connecting: "connecting", open: "live", lost: "reconnecting" } as const;

/** `stopped`: of this page only. Otherwise all pages are paused. */
export function LiveState({ stopped = paused }: { readonly stopped?: Signal<boolean> }) {
  const state = stopped.value ? "paused" : connection.value;
  return (
    <span class="live-state row">
      <span role="status" class={`live-dot ${state}`}>
        {state === "paused" ? "paused" : WORDS[state]}
      </span>
      <button type="button" class="small" aria-pressed={stopped.value} onClick={() => (stopped.value = !stopped.value)}>
        {stopped.value ? "Resume" : "Pause"}
      </button>
    </span>
  );
}
