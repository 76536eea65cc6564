// Owns: how far a long operation is. Does not own: running it (api.ts).
import type { ProgressShape } from "../../../src/bridges/console/shapes.ts";
import "./progress.css";

const NUMBER = new Intl.NumberFormat();

/** `what`: "Verifying events". Without a total it only counts. */
export function Progress({
  what,
  progress: { done, total },
  cancel,
}: {
  readonly what: string;
  readonly progress: ProgressShape;
  readonly cancel?: () => void;
}) {
  const share = total === undefined || total === 0 ? undefined : Math.min(1, done / total);
  return (
    <div class="progress">
      <progress aria-label={what} max={1} {...(share === undefined ? {} : { value: share })} />
      <span class="count">
        {what}: {NUMBER.format(done)}
        {total === undefined ? "" : ` of ${NUMBER.format(total)}`}
        {share === undefined ? "" : ` (${Math.floor(share * 100)} %)`}
      </span>
      {cancel === undefined ? null : (
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      )}
    </div>
  );
}
