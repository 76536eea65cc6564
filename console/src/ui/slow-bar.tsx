// Owns: a duration with a bar that compares it with the others of its list.
import { None } from "./none.tsx";
import { duration } from "./time.tsx";
import "./slow-bar.css";

/** From here a call, or a client, is called slow: people notice a wait of this length. */
export const SLOW_MS = 200;

interface Durations {
  readonly p99Ms: number;
  readonly waitedP99Ms?: number;
  readonly ranP99Ms?: number;
}

/** How long the calls of a client ran, where that was measured; otherwise how long it waited for its answers. */
export const ranMs = ({ p99Ms, ranP99Ms }: Durations): number => ranP99Ms ?? p99Ms;

/** How long its calls waited for others. */
export const Waited = ({ waitedP99Ms }: Durations) => (waitedP99Ms === undefined ? <None /> : <span>{duration(waitedP99Ms)}</span>);

export function SlowBar({
  ms,
  most,
  none = false,
}: {
  readonly ms: number;
  /** The longest of the list. */
  readonly most: number;
  /** Nothing was measured. */
  readonly none?: boolean;
}) {
  if (none) return <None />;
  const slow = ms >= SLOW_MS;
  return (
    <span class="slow-bar">
      {slow ? <span class="badge bad">slow</span> : null}
      <span class="slow-ms">{duration(ms)}</span>
      <span class="slow-track" aria-hidden="true">
        <span class={slow ? "slow-fill bad" : "slow-fill"} style={{ width: `${most === 0 ? 0 : Math.max(2, (ms / most) * 100)}%` }} />
      </span>
    </span>
  );
}
