// Owns: as whom an actor's page calls: the viewer that is chosen, where the server allows it, or the operator. Does not own: the viewer
// (viewer.ts).
import type { ViewerShape } from "../../../../src/bridges/console/shapes.ts";
import { can } from "../../about.ts";
import { useParameter } from "../../page-state.ts";
import { principalName } from "../../ui/who.tsx";
import { type ChosenViewer, viewerShape } from "../../viewer.ts";

/** Undefined: as the operator. */
export function useCaller(viewer: ChosenViewer): ViewerShape | undefined {
  const [caller] = useParameter("by");
  return can("act-as") && caller !== "operator" ? viewerShape(viewer) : undefined;
}

export function CallerSelect({ viewer }: { readonly viewer: ChosenViewer }) {
  const [, setCaller] = useParameter("by");
  const as = useCaller(viewer);
  return (
    <label class="row">
      <span class="dim">as</span>
      <select
        value={as === undefined ? "operator" : "viewer"}
        onChange={({ currentTarget }) => setCaller(currentTarget.value === "operator" ? "operator" : "")}
      >
        {can("act-as") ? <option value="viewer">{principalName(viewer.principal)}</option> : null}
        <option value="operator">operator</option>
      </select>
    </label>
  );
}
