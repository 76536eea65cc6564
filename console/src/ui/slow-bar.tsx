// Owns: a duration with a bar that compares it with the others of its list.
import { duration } from "./time.tsx";
import "./slow-bar.css";

/** From here a client is called slow: people notice a wait of this length. */
const SLOW_MS = 200;

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
  if (none) return <span class="dim">–</span>;
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
