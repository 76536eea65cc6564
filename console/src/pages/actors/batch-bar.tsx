// Owns: operations on the actors that are selected, with their progress and what failed. Does not own: selecting them.
import { useSignal } from "@preact/signals";
import type { BatchInput, BatchOutcome } from "../../../../src/bridges/console/shapes.ts";
import { useOperation } from "../../operation.ts";
import { ActorLink } from "../../ui/actor-link.tsx";
import { confirm } from "../../ui/confirm.tsx";
import { Progress } from "../../ui/progress.tsx";
import type { Selection } from "../../ui/selection.ts";
import { ErrorNote } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";

/** The API takes at most so many at once. */
export const MOST_AT_ONCE = 10_000;

type Operation = "stop" | "restart";

const WORDS = { stop: ["Stop", "Stopping", "stopped"], restart: ["Restart", "Restarting", "restarted"] } as const;

export function BatchBar({
  selection,
  selectAll,
  reload,
}: {
  readonly selection: Selection;
  /** Selects all that match, on all pages. Absent: there are no others. */
  readonly selectAll?: (() => void) | undefined;
  readonly reload: () => void;
}) {
  const operation = useSignal<Operation>("restart");
  const { progress, result, error, start, cancel, clear } = useOperation<BatchOutcome>("/batch", { background: true });
  const count = selection.keys.size;

  const begin = async (next: Operation): Promise<void> => {
    const [verb] = WORDS[next];
    const what = `${count.toLocaleString()} ${count === 1 ? "actor" : "actors"}`;
    const reason = await confirm({
      title: `${verb} ${what}?`,
      text:
        next === "stop"
          ? "They end, and their children with them. Their history stays."
          : "They are dropped from memory, and their failures are cleared. Their state stays.",
      action: `${verb} ${what}`,
      danger: next === "stop",
      ...(next === "stop" ? { input: { label: "Reason, for their last events", required: true } } : {}),
    });
    if (reason === undefined) return;
    const input: BatchInput = { operation: next, ids: [...selection.keys], ...(next === "stop" ? { reason } : {}) };
    operation.value = next;
    const { result: done } = await start(input, count);
    if (done !== undefined) selection.clear();
    reload();
  };

  const [, running, past] = WORDS[operation.value];
  if (count === 0 && progress === undefined && result === undefined && error === undefined) return null;
  return (
    <section class="batch-bar" aria-label="Operations on the selected actors">
      {progress !== undefined ? (
        <Progress what={running} progress={progress} cancel={cancel} />
      ) : count === 0 ? null : (
        <div class="row">
          <strong>{count.toLocaleString()} selected</strong>
          <button type="button" disabled={count > MOST_AT_ONCE} onClick={() => void begin("restart")}>
            Restart
          </button>
          <button type="button" class="danger" disabled={count > MOST_AT_ONCE} onClick={() => void begin("stop")}>
            Stop
          </button>
          <button type="button" class="quiet" onClick={selection.clear}>
            Select none
          </button>
          {selectAll === undefined ? null : (
            <button type="button" class="quiet" onClick={selectAll}>
              Select all that match
            </button>
          )}
          {count > MOST_AT_ONCE ? <span class="mistake">At most {MOST_AT_ONCE.toLocaleString()} at once.</span> : null}
        </div>
      )}
      {error === undefined ? null : <ErrorNote error={error} />}
      {result === undefined ? null : (
        <div role="status">
          <div class="row">
            <span>
              {result.done.toLocaleString()} {past}
              {result.failed.length === 0 ? "." : `, ${result.failed.length.toLocaleString()} not:`}
            </span>
            <button type="button" class="small quiet" onClick={clear}>
              Close
            </button>
          </div>
          {result.failed.length === 0 ? null : (
            <Table
              caption="What was not done"
              rows={result.failed.slice(0, 100)}
              keyOf={({ id }) => id}
              columns={[
                { head: "Actor", cell: ({ id }) => <ActorLink id={id} /> },
                { head: "Why not", cell: ({ message }) => message },
                { head: "Code", cell: ({ code }) => <code>{code}</code>, wide: true },
              ]}
            />
          )}
        </div>
      )}
    </section>
  );
}
