// Owns: the tab with an actor's state, live. Does not own: the tree (ui/json-tree.tsx), editing (edit-state.tsx).
import { lazy, Suspense } from "preact/compat";
import { useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { Json } from "../../../../src/core/contract/index.ts";
import { can, whyNot } from "../../about.ts";
import { differences } from "../../json-paths.ts";
import { type Changed, JsonTree } from "../../ui/json-tree.tsx";
import { Prose } from "../../ui/prose.tsx";
import { Empty, Loading } from "../../ui/states.tsx";
import { bytes } from "../../ui/time.tsx";
import type { ActorTabProps } from "./tabs.ts";

const EditState = lazy(async () => (await import("./edit-state.tsx")).EditState);

/** A larger text is no pleasure to edit, and slow. */
const MAX_EDIT_BYTES = 1_048_576;

export function StateTab({ actor, reload }: ActorTabProps) {
  const { state, seq, version, stateBytes, persistence, status } = actor;
  const changed = useChanged(state, seq);
  const editing = useSignal(false);
  const why = !can("edit")
    ? whyNot("edit")
    : persistence === "memory"
      ? "It is in memory only, so it has no history for an edit."
      : status === "stopped"
        ? "It has stopped."
        : stateBytes > MAX_EDIT_BYTES
          ? `It is larger than ${bytes(MAX_EDIT_BYTES)}.`
          : undefined;
  return (
    <>
      <div class="row tab-bar">
        <span class="dim">
          As of event {seq.toLocaleString()} · format {version} · {bytes(stateBytes)}
          {changed === undefined || editing.value ? null : ` · ${changed.paths.size} changed by the last event`}
        </span>
        <span class="grow" />
        {editing.value ? null : why === undefined ? (
          <button type="button" onClick={() => (editing.value = true)}>
            Edit …
          </button>
        ) : (
          <small class="dim">
            Not editable: <Prose text={why} />
          </small>
        )}
      </div>
      {editing.value ? (
        <Suspense fallback={<Loading what="the editor" />}>
          <EditState actor={actor} close={() => (editing.value = false)} reload={reload} />
        </Suspense>
      ) : actor.stateTooLarge === true ? (
        <Empty title="Too large for the console">
          <span>
            Print it with <code>npx troupe state {actor.id}</code>, next to the server.
          </span>
        </Empty>
      ) : (
        <JsonTree value={state} label="the state" changed={changed} search />
      )}
    </>
  );
}

/** The paths that differ from the state before. */
function useChanged(state: Json, seq: number): Changed | undefined {
  const last = useRef<{ readonly state: Json; readonly seq: number; readonly changed?: Changed }>({ state, seq });
  if (last.current.seq !== seq) {
    const paths = new Set(differences(last.current.state, state, 500).map(({ path }) => path));
    last.current = { state, seq, changed: { n: seq, paths } };
  }
  return last.current.changed;
}
