// Owns: the tab with what an actor is connected to: parent, children, links, timers, mailbox. Does not own: those actors.
import type { TimerRow } from "../../../../src/bridges/console/shapes.ts";
import { ActorLink, EventLink } from "../../ui/actor-link.tsx";
import { Fact, Facts } from "../../ui/facts.tsx";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { counted, duration, Time } from "../../ui/time.tsx";
import { useSignal } from "@preact/signals";
import { Links } from "./links.tsx";
import { Mailbox } from "./mailbox.tsx";
import type { ActorTabProps } from "./tabs.ts";

const MOST_CHILDREN = 100;

export function RelationsTab({ actor }: ActorTabProps) {
  const { kind, parent, children, childCount, timers, queued, pending, owner, uid, head, createdAt, lastMessageAt, messageCount } = actor;
  const all = useSignal(false);
  const listed = all.value ? children : children.slice(0, MOST_CHILDREN);
  return (
    <div class="relations">
      <section>
        <h2>Supervision</h2>
        <Facts>
          <Fact name="Parent">{parent === undefined ? <span class="dim">none: a caller started it</span> : <ActorLink id={parent} />}</Fact>
          <Fact name="Owner">{owner === undefined ? <span class="dim">none</span> : <span class="id">{owner}</span>}</Fact>
          <Fact name={childCount === 1 ? "1 child" : `${childCount.toLocaleString()} children`}>
            {children.length === 0 ? <span class="dim">none</span> : null}
            <ul class="related">
              {listed.map((id) => (
                <li key={id}>
                  <ActorLink id={id} />
                </li>
              ))}
            </ul>
            {listed.length < children.length ? (
              <button type="button" class="small" onClick={() => (all.value = true)}>
                Show {children.length < childCount ? "the first" : "all"} {children.length.toLocaleString()}
              </button>
            ) : null}
          </Fact>
        </Facts>
      </section>
      <section>
        <h2>Mailbox</h2>
        <Facts>
          <Fact name="Waiting">
            {queued === undefined ? <span class="dim">this engine does not say</span> : counted(queued, "message")}
          </Fact>
          <Fact name="Replies to send">{pending.toLocaleString()}</Fact>
          <Fact name="Committed">
            <span title="What only reads leaves no event, and is not counted; nor is a refusal without a record">
              {counted(messageCount, "message")}
            </span>
          </Fact>
          <Fact name="Last committed">
            <Time at={lastMessageAt} />
          </Fact>
          <Fact name="Began">
            <Time at={createdAt} />
          </Fact>
        </Facts>
      </section>
      {queued === undefined ? null : <Mailbox id={actor.id} />}
      <Links actor={actor} />
      <section class="whole">
        <h2>Timers</h2>
        {timers.length === 0 ? (
          <Empty title="No timers">It has set none that is still to fire.</Empty>
        ) : (
          <Table caption="Timers" rows={timers} keyOf={({ name }) => name} columns={TIMER_COLUMNS} />
        )}
      </section>
      <section class="whole">
        <h2>Identity</h2>
        <Facts>
          <Fact name="Kind">{kind}</Fact>
          <Fact name="UUID">
            <span class="id">{uid}</span>
          </Fact>
          <Fact name="Last event">
            <EventLink id={head} />
          </Fact>
        </Facts>
      </section>
    </div>
  );
}

const TIMER_COLUMNS = [
  { head: "Name", cell: ({ name }: TimerRow) => (name === "" ? <span class="dim">its expiry</span> : <code>{name}</code>) },
  { head: "Fires", cell: ({ at }: TimerRow) => <Time at={at} /> },
  { head: "Message", cell: ({ action }: TimerRow) => (action === undefined ? null : <code>{action}</code>) },
  {
    head: "Repeats",
    cell: ({ everyMs, cron, timeZone }: TimerRow) =>
      everyMs !== undefined ? `every ${duration(everyMs)}` : cron === undefined ? "once" : `${cron}, ${timeZone ?? "UTC"}`,
    wide: true as const,
  },
  { head: "Set by", cell: ({ cause }: TimerRow) => (cause === undefined ? null : <EventLink id={cause} />), wide: true as const },
];
