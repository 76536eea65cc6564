// Owns: the tab with an actor's state, live. Does not own: the tree (ui/json-tree.tsx).
import { useRef } from "preact/hooks";
import type { Json } from "../../../../src/core/contract/index.ts";
import { differences } from "../../json-paths.ts";
import { type Changed, JsonTree } from "../../ui/json-tree.tsx";
import { bytes } from "../../ui/time.tsx";
import type { ActorTabProps } from "./tabs.ts";

export function StateTab({ actor }: ActorTabProps) {
  const { state, seq, version, stateBytes } = actor;
  const changed = useChanged(state, seq);
  return (
    <>
      <div class="row tab-bar">
        <span class="dim">
          As of event {seq.toLocaleString()} · format {version} · {bytes(stateBytes)}
        </span>
      </div>
      <JsonTree value={state} label="the state" changed={changed} search />
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
