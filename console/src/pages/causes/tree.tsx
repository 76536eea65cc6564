// Owns: causes as a graph. Does not own: its layout (ui/graph.tsx).
import { useMemo } from "preact/hooks";
import { readable } from "../../ui/actor-link.tsx";
import { Graph } from "../../ui/graph.tsx";
import { Table } from "../../ui/table.tsx";
import { type Causes, offset } from "./model.ts";
import type { ViewProps } from "./view.ts";

export function Tree({ causes, selected, select }: ViewProps) {
  const [nodes, edges] = useMemo(
    () => [
      causes.steps.map(({ id, title, actor, node, fromMs }) => ({
        id,
        title,
        subtitle: readable(actor),
        note: offset(fromMs),
        level: node.letter === undefined ? undefined : ("bad" as const),
      })),
      causes.steps.flatMap(({ id, parent }) => (parent === undefined ? [] : [{ from: parent.id, to: id }])),
    ],
    [causes],
  );
  return <Graph label="Graph of causes: choose an event" nodes={nodes} edges={edges} selected={selected} onSelect={select} />;
}

export const TreeTable = ({ causes: { steps } }: { readonly causes: Causes }) => (
  <Table
    caption="Events, their causes and effects"
    rows={steps}
    keyOf={({ id }) => id}
    columns={[
      { head: "Event", cell: ({ title }) => title },
      { head: "On", cell: ({ actor }) => readable(actor) },
      { head: "Caused by", cell: ({ parent }) => (parent === undefined ? "—" : `${parent.title} on ${readable(parent.actor)}`) },
      {
        head: "Caused",
        cell: ({ children, node }) =>
          node.letter === undefined
            ? children.map(({ title, actor }) => `${title} on ${readable(actor)}`).join(", ")
            : `dead letter: ${node.letter.why}`,
      },
    ]}
  />
);
