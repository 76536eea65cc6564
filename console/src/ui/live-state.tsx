// Owns: saying whether a page is live, and pausing it. Does not own: the connection (stream.ts).
import type { Signal } from "@preact/signals";
import { connection, paused } from "../stream.ts";
import "./live-state.css";

const WORDS = {
  idle: "not live",
  connecting: "connecting",
  open: "live",
  lost: "reconnecting",
  paused: "paused",
  held: "standing still",
} as const;

/** `stopped`: of this page only. Otherwise all pages are paused. `held`: defined while the list stands still so that it can be read. */
export function LiveState({ stopped = paused, held }: { readonly stopped?: Signal<boolean>; readonly held?: Signal<number | undefined> }) {
  const live = stopped.value ? "paused" : connection.value;
  const state = live === "open" && held?.value !== undefined ? "held" : live;
  return (
    <span class="live-state row">
      <span role="status" class={`live-dot ${state}`} title={state === "held" ? "The list stands still while you read it." : undefined}>
        {WORDS[state]}
        {state === "held" ? <span class="visually-hidden"> while you read</span> : null}
      </span>
      <button type="button" class="small" aria-pressed={stopped.value} onClick={() => (stopped.value = !stopped.value)}>
        {stopped.value ? "Resume" : "Pause"}
      </button>
    </span>
  );
}
