// Owns: operations on the actors that are selected, with their progress and what failed. Does not own: selecting them.
import { useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { BatchInput, BatchOutcome, ProgressShape } from "../../../../src/bridges/console/shapes.ts";
import { ApiError, run } from "../../api.ts";
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
  done,
}: {
  readonly selection: Selection;
  /** Selects all that match, on all pages. Absent: there are no others. */
  readonly selectAll?: (() => void) | undefined;
  readonly done: () => void;
}) {
  const running = useSignal<{ readonly operation: Operation; readonly progress: ProgressShape } | undefined>(undefined);
  const outcome = useSignal<{ readonly operation: Operation; readonly result: BatchOutcome } | undefined>(undefined);
  const error = useSignal<ApiError | undefined>(undefined);
  const abort = useRef<AbortController | undefined>(undefined);
  const count = selection.keys.size;

  const start = async (operation: Operation): Promise<void> => {
    const [verb] = WORDS[operation];
    const what = `${count.toLocaleString()} ${count === 1 ? "actor" : "actors"}`;
    const reason = await confirm({
      title: `${verb} ${what}?`,
      text:
        operation === "stop"
          ? "They end, and their children with them. Their history stays."
          : "They are dropped from memory, and their failures are cleared. Their state stays.",
      action: `${verb} ${what}`,
      danger: operation === "stop",
      ...(operation === "stop"
        ? { input: { label: "Reason, for their last events", value: "stopped in the console", required: true } }
        : {}),
    });
    if (reason === undefined) return;
    const input: BatchInput = { operation, ids: [...selection.keys], ...(operation === "stop" ? { reason } : {}) };
    const controller = new AbortController();
    abort.current = controller;
    error.value = undefined;
    outcome.value = undefined;
    running.value = { operation, progress: { done: 0, total: count } };
    try {
      const result = await run<BatchOutcome>("/batch", input, (progress) => (running.value = { operation, progress }), controller.signal);
      outcome.value = { operation, result };
      selection.clear();
    } catch (thrown) {
      if (!controller.signal.aborted) error.value = thrown instanceof ApiError ? thrown : new ApiError("INTERNAL", String(thrown), 0);
    }
    running.value = undefined;
    done();
  };

  const { value: now } = running;
  const { value: last } = outcome;
  if (count === 0 && now === undefined && last === undefined && error.value === undefined) return null;
  return (
    <section class="batch-bar" aria-label="Operations on the selected actors">
      {now !== undefined ? (
        <Progress what={WORDS[now.operation][1]} progress={now.progress} cancel={() => abort.current?.abort()} />
      ) : count === 0 ? null : (
        <div class="row">
          <strong>{count.toLocaleString()} selected</strong>
          <button type="button" disabled={count > MOST_AT_ONCE} onClick={() => void start("restart")}>
            Restart
          </button>
          <button type="button" class="danger" disabled={count > MOST_AT_ONCE} onClick={() => void start("stop")}>
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
      {error.value === undefined ? null : <ErrorNote error={error.value} />}
      {last === undefined ? null : (
        <div role="status">
          <div class="row">
            <span>
              {last.result.done.toLocaleString()} {WORDS[last.operation][2]}
              {last.result.failed.length === 0 ? "." : `, ${last.result.failed.length.toLocaleString()} not:`}
            </span>
            <button type="button" class="small quiet" onClick={() => (outcome.value = undefined)}>
              Close
            </button>
          </div>
          {last.result.failed.length === 0 ? null : (
            <Table
              caption="What was not done"
              rows={last.result.failed.slice(0, 100)}
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
