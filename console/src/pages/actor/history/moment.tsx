// Owns: one moment of a history: the event, what it changed, the state after it, and how that differs from now.
import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import type { ActorDetail, EventRow, PageOf, StateAt, StateDiff } from "../../../../../src/bridges/console/shapes.ts";
import { can, whyNot } from "../../../about.ts";
import { actorPath, get } from "../../../api.ts";
import { reasonOf, shortArguments } from "../../../operator-events.ts";
import { useParameter } from "../../../page-state.ts";
import { type Resource, useResource } from "../../../resource.ts";
import { Diff } from "../../../ui/diff.tsx";
import { Fact, Facts } from "../../../ui/facts.tsx";
import { JsonTree } from "../../../ui/json-tree.tsx";
import { Origin } from "../../../ui/origin.tsx";
import { Prose } from "../../../ui/prose.tsx";
import { ErrorNote, Loaded, Loading } from "../../../ui/states.tsx";
import { Tabs } from "../../../ui/tabs.tsx";
import { duration, Time } from "../../../ui/time.tsx";
import { ReplyPart, ValuePart } from "../../../ui/value-part.tsx";
import { Who } from "../../../ui/who.tsx";
import { ForkDialog, RevertDialog } from "./rewrite.tsx";

export function Moment({
  actor,
  at,
  change,
  reverted,
}: {
  readonly actor: ActorDetail;
  readonly at: number;
  readonly change: Resource<StateDiff>;
  /** Its argument is the event that was written. */
  readonly reverted: (seq: number) => void;
}) {
  const { id, seq } = actor;
  const [shown, show] = useParameter("show", "change");
  const event = useResource<EventRow | undefined>(`event ${id} ${at}`, async (signal) => {
    const { items } = await get<PageOf<EventRow>>(`${actorPath(id)}/events`, { after: at - 1, limit: 1 }, signal);
    return items[0];
  });
  const differences = change.data.value?.differences ?? [];
  return (
    <section class="moment" aria-label="The event, and the state after it">
      {event.error.value === undefined ? null : <ErrorNote error={event.error.value} retry={event.reload} />}
      {event.data.value === undefined ? <Loading what={`event ${at}`} /> : <EventSummary row={event.data.value} />}
      <Operations actor={actor} at={at} reverted={reverted} />
      <Tabs
        label="What to see of this moment"
        tabs={[
          { id: "change", label: "Changed", count: differences.length },
          { id: "state", label: "State" },
          { id: "now", label: "Compared with now" },
        ]}
        value={shown}
        onChange={show}
      >
        {shown === "state" ? (
          <StateThen id={id} at={at} paths={differences.map(({ path }) => path)} />
        ) : shown === "now" ? (
          <ToNow id={id} at={at} seq={seq} />
        ) : (
          <Loaded resource={change} what="what it changed">
            {() => <Diff differences={differences} none="This event changed nothing of the state." />}
          </Loaded>
        )}
      </Tabs>
    </section>
  );
}

function EventSummary({ row }: { readonly row: EventRow }) {
  const { seq, type, at, ms, id, reply, sent, erased } = row;
  return (
    <>
      <h2>
        <span class="dim">#{seq.toLocaleString()}</span> {type}
      </h2>
      <Facts>
        <Fact name="Who">
          <Who row={row} />
        </Fact>
        <Fact name="When">
          <Time at={at} />
        </Fact>
        <Fact name="Reason">{reasonOf(row)}</Fact>
        <Fact name="Request">
          <Origin row={row} />
        </Fact>
        <Fact name="Took">{ms === undefined ? undefined : duration(ms)}</Fact>
        <Fact name="Sent">{sent === 0 ? "nothing" : sent === 1 ? "1 message" : `${sent} messages`}</Fact>
      </Facts>
      {erased === true ? <p class="dim">Its body was erased: arguments, reply and changes are no longer known.</p> : null}
      <ValuePart label="Arguments" value={shortArguments(row)} />
      <ReplyPart reply={reply} />
      <p class="links">
        <Link href={`/events/${id}`}>All about this event</Link>
        <Link href={`/events/${id}/causes`}>What caused it, and what followed</Link>
      </p>
    </>
  );
}

function StateThen({ id, at, paths }: { readonly id: string; readonly at: number; readonly paths: readonly string[] }) {
  const state = useResource<StateAt>(`state ${id} ${at}`, (signal) => get(`${actorPath(id)}/state`, { at }, signal));
  const { data, error } = state;
  if (error.value !== undefined) return <ErrorNote error={error.value} retry={state.reload} />;
  if (data.value === undefined) return <Loading what="the state" />;
  return (
    <JsonTree
      value={data.value.state}
      label={`the state after event ${data.value.seq}`}
      changed={paths.includes("") ? undefined : { n: data.value.seq, paths: new Set(paths) }}
      search
    />
  );
}

function ToNow({ id, at, seq }: { readonly id: string; readonly at: number; readonly seq: number }) {
  const diff = useResource<StateDiff | undefined>(`now ${id} ${at} ${seq}`, async (signal) =>
    at === seq ? undefined : await get<StateDiff>(`${actorPath(id)}/diff`, { from: at, to: seq }, signal),
  );
  const { data, error } = diff;
  if (error.value !== undefined) return <ErrorNote error={error.value} retry={diff.reload} />;
  if (at === seq) return <p class="dim">This is the newest event: the state is that of now.</p>;
  if (data.value === undefined) return <Loading what="the differences" />;
  return <Diff differences={data.value.differences} words={["then", "now"]} none="The state is the same now." />;
}

function Operations({
  actor,
  at,
  reverted,
}: {
  readonly actor: ActorDetail;
  readonly at: number;
  readonly reverted: (seq: number) => void;
}) {
  const [dialog, setDialog] = useState<"fork" | "here" | "before" | undefined>(undefined);
  const close = (): void => setDialog(undefined);
  if (!can("rewrite"))
    return (
      <p class="dim">
        No fork or revert here: <Prose text={whyNot("rewrite")} />
      </p>
    );
  return (
    <div class="row operations">
      <button type="button" onClick={() => setDialog("fork")}>
        Fork here …
      </button>
      <button type="button" class="danger" onClick={() => setDialog("here")} disabled={at >= actor.seq}>
        Revert to here …
      </button>
      <button type="button" class="danger" onClick={() => setDialog("before")} disabled={at < 2}>
        Revert to before it …
      </button>
      <small class="dim">
        {at < 2 ? "Before the first event there is no state." : at >= actor.seq ? "This is the newest event: nothing follows it." : ""}
      </small>
      {dialog === "fork" ? <ForkDialog actor={actor} at={at} close={close} /> : null}
      {dialog === "here" ? <RevertDialog actor={actor} at={at} close={close} reverted={reverted} /> : null}
      {dialog === "before" ? <RevertDialog actor={actor} at={at - 1} close={close} reverted={reverted} /> : null}
    </div>
  );
}
