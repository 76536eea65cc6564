// Owns: running a history again with the code that is served now, and what comes out differently. Does not own: running it (the API).
import type { ActorDetail, Replayed } from "../../../../../src/bridges/console/shapes.ts";
import { can, whyNot } from "../../../about.ts";
import { actorPath } from "../../../api.ts";
import { differences } from "../../../json-paths.ts";
import { useOperation } from "../../../operation.ts";
import { Diff } from "../../../ui/diff.tsx";
import { Progress } from "../../../ui/progress.tsx";
import { Prose } from "../../../ui/prose.tsx";
import { ErrorNote } from "../../../ui/states.tsx";

export function Rerun({ actor: { id, seq }, open }: { readonly actor: ActorDetail; readonly open: (at: number) => void }) {
  const { progress, result, error, start, cancel } = useOperation<Replayed>(`${actorPath(id)}/replay`);
  const rerun = (): void => void start({}, seq);
  return (
    <section class="rerun" aria-label="Run again with the current code">
      <h2>Run again with the current code</h2>
      <p class="dim">Every turn is run again from its recorded message, with the code that is served now. Nothing is changed or sent.</p>
      {can("run") ? (
        progress === undefined ? (
          <button type="button" onClick={rerun}>
            Run {seq.toLocaleString()} {seq === 1 ? "event" : "events"} again
          </button>
        ) : (
          <Progress what="Events run" progress={progress} cancel={cancel} />
        )
      ) : (
        <p class="dim">
          <Prose text={whyNot("run")} />
        </p>
      )}
      {error === undefined ? null : <ErrorNote error={error} retry={rerun} />}
      <div role="status">{result === undefined ? null : <Result result={result} open={open} />}</div>
    </section>
  );
}

function Result({
  result: { run: count, differ, mismatches, taken },
  open,
}: {
  readonly result: Replayed;
  readonly open: (at: number) => void;
}) {
  const reasons = Object.entries(taken).filter(([, number]) => number !== 0);
  return (
    <>
      <p>
        {differ === 0 ? <span class="badge good">the same</span> : <span class="badge bad">{differ.toLocaleString()} differ</span>}{" "}
        {count.toLocaleString()} {count === 1 ? "turn was" : "turns were"} run again
        {differ === 0 ? ", with the same result each." : "."}
        {reasons.length === 0 ? null : (
          <span class="dim">
            {" "}
            Taken from the record instead: {reasons.map(([why, number]) => `${JSON.stringify(number)} ${why}`).join(", ")}.
          </span>
        )}
      </p>
      {mismatches.length === 0 ? null : (
        <ul class="mismatches">
          {mismatches.map(({ seq, what, recorded, now }) => (
            <li key={`${seq} ${what}`}>
              <p>
                <button type="button" class="quiet" onClick={() => open(seq)}>
                  Event {seq.toLocaleString()}
                </button>{" "}
                another {what}
              </p>
              <Diff differences={differences(recorded, now)} words={["recorded", "now"]} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
