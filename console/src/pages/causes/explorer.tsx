// Owns: a graph of causes as a diagram, a graph and a timeline, with one selection. Does not own: the views, and which event it is about.
import type { ComponentType } from "preact";
import { lazy, Suspense } from "preact/compat";
import { useMemo } from "preact/hooks";
import { Link } from "wouter-preact";
import type { CauseGraph } from "../../../../src/bridges/console/shapes.ts";
import { get } from "../../api.ts";
import { useParameter } from "../../page-state.ts";
import { useResource } from "../../resource.ts";
import { ActorLink, readable } from "../../ui/actor-link.tsx";
import { Empty, ErrorNote, Loading } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { duration, Time } from "../../ui/time.tsx";
import { whoText } from "../../ui/who.tsx";
import { Detail } from "./detail.tsx";
import { type Causes, causesOf, titleText } from "./model.ts";
import { Sequence, SequenceTable } from "./sequence.tsx";
import { Timeline, TimelineTable } from "./timeline.tsx";
import type { ViewProps } from "./view.ts";
import "../actor/actor.css";
import "./causes.css";

interface View {
  readonly id: string;
  readonly label: string;
  readonly Drawing: ComponentType<ViewProps>;
  readonly Alternative: ComponentType<{ readonly causes: Causes }>;
}

const VIEWS: readonly [View, ...View[]] = [
  { id: "sequence", label: "Sequence", Drawing: Sequence, Alternative: SequenceTable },
  {
    id: "graph",
    label: "Graph",
    Drawing: lazy(async () => (await import("./tree.tsx")).Tree),
    Alternative: lazy(async () => (await import("./tree.tsx")).TreeTable),
  },
  { id: "timeline", label: "Timeline", Drawing: Timeline, Alternative: TimelineTable },
];

/** The causes of an event, once they are loaded; until then what there is to show instead. */
export function useCauses(id: string) {
  const { data, error, reload } = useResource<CauseGraph>(id, (signal) => get(`/events/${id}/causes`, {}, signal));
  const causes = useMemo(() => (data.value === undefined ? undefined : causesOf(data.value)), [data.value]);
  const instead =
    error.value === undefined ? (
      data.value === undefined ? (
        <Loading what="causes and effects" />
      ) : (
        <Empty title="Nothing is known of this event" />
      )
    ) : error.value.status === 404 ? (
      <Empty title="There is no such event">
        <span>
          Its actor may have been removed. <Link href="/actors">See all actors</Link>.
        </span>
      </Empty>
    ) : (
      <ErrorNote error={error.value} retry={reload} />
    );
  return { causes, instead, reload };
}

export function Explorer({ causes }: { readonly causes: Causes }) {
  const [view, setView] = useParameter("view", "sequence");
  const [chosen, setChosen] = useParameter("event", causes.of.id);
  const selected = causes.byId.get(chosen) ?? causes.of;
  const here = VIEWS.find(({ id }) => id === view) ?? VIEWS[0];
  return (
    <>
      <Summary causes={causes} select={setChosen} />
      <div class="split">
        <div class="views">
          <Tabs label="Views of the causes" tabs={VIEWS} value={here.id} onChange={setView}>
            <Suspense fallback={<Loading what="the view" />}>
              <here.Drawing causes={causes} selected={selected.id} select={setChosen} />
              <details class="alternative">
                <summary>The same as a table</summary>
                <here.Alternative causes={causes} />
              </details>
            </Suspense>
          </Tabs>
        </div>
        <Detail step={selected} select={setChosen} />
      </div>
    </>
  );
}

/** What started it, how much followed, and what went wrong. */
function Summary({
  causes: { root, steps, letters, spanMs, cut },
  select,
}: {
  readonly causes: Causes;
  readonly select: (id: string) => void;
}) {
  const events = steps.length - letters.length;
  const places = new Set(steps.flatMap(({ actor, node }) => (node.letter === undefined ? [actor] : []))).size;
  return (
    <div class="summary">
      <p>
        {root.node.cause === undefined ? "Started by" : "The first that is still stored:"}{" "}
        <button type="button" class="link" onClick={() => select(root.id)}>
          {titleText(root.title)}
        </button>{" "}
        on <ActorLink id={root.actor} />
        {root.node.principal === undefined ? null : (
          <>
            {" "}
            by <strong>{whoText(root.node)}</strong>
          </>
        )}{" "}
        at <Time at={root.node.at} />. {events.toLocaleString()} {events === 1 ? "event" : "events"} on {places.toLocaleString()}{" "}
        {places === 1 ? "actor" : "actors"}
        {spanMs > 0 ? ` within ${duration(spanMs)}` : ""}.
      </p>
      {cut ? <p class="dim">More followed: these are the first {steps.length.toLocaleString()}.</p> : null}
      {letters.length === 0 ? null : (
        <ul class="dead-letters" aria-label="Dead letters">
          {letters.slice(0, 10).map(({ id, title, actor, node }) => (
            <li key={id}>
              <span class="badge bad">dead letter</span>{" "}
              <button type="button" class="link" onClick={() => select(id)}>
                {title}
              </button>{" "}
              to <span class="id">{readable(actor)}</span>: {node.letter?.why}
            </li>
          ))}
          {letters.length > 10 ? <li class="dim">and {letters.length - 10} more</li> : null}
        </ul>
      )}
    </div>
  );
}
