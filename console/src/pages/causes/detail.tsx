// Owns: the step that is selected: what it is, and its neighbours. Does not own: everything about an event (event.tsx).
import { Link } from "wouter-preact";
import { actorPath } from "../../api.ts";
import { ActorLink, readable } from "../../ui/actor-link.tsx";
import { readablePath } from "../../ui/diff.tsx";
import { Fact, Facts } from "../../ui/facts.tsx";
import { duration, Time } from "../../ui/time.tsx";
import { Origin } from "../../ui/origin.tsx";
import { ReplyPart, ValuePart } from "../../ui/value-part.tsx";
import { Who } from "../../ui/who.tsx";
import type { Step } from "./model.ts";

const MANY = 12;

export function Detail({ step, select }: { readonly step: Step; readonly select: (id: string) => void }) {
  const { id, node, parent, children, waitedMs, title, actor } = step;
  const { letter, seq, at, ms, attempts, args, reply, changed } = node;
  const paths = [...new Set(changed.map(readablePath))].filter((path) => path !== "");
  return (
    <aside class="detail" aria-label="The selected event" aria-live="polite">
      <h2>{title}</h2>
      {letter === undefined ? null : (
        <p class="state error">
          <span>
            <strong>Dead letter.</strong> {letter.why}
          </span>
        </p>
      )}
      <Facts>
        <Fact name={letter === undefined ? "On" : "To"}>
          <ActorLink id={actor} />
        </Fact>
        <Fact name="Who">
          <Who row={node} />
        </Fact>
        <Fact name="When">
          <Time at={at} />
        </Fact>
        <Fact name="Waited">{parent === undefined ? undefined : duration(waitedMs)}</Fact>
        <Fact name="Took">{ms === undefined ? undefined : duration(ms)}</Fact>
        <Fact name="Failed attempts">{attempts === 0 ? undefined : attempts}</Fact>
      </Facts>
      {paths.length === 0 ? null : (
        <p class="dim">
          Changed <code>{paths.slice(0, MANY).join(", ")}</code>
        </p>
      )}
      <ValuePart label="Arguments" value={args} />
      <ReplyPart reply={reply} />
      <h3>Caused by</h3>
      {parent === undefined ? (
        <p class="dim">{node.cause === undefined ? <Origin row={node} /> : "An event that is no longer stored."}</p>
      ) : (
        <StepButton step={parent} select={select} />
      )}
      {letter === undefined ? (
        <>
          <h3>Caused</h3>
          {children.length === 0 ? <p class="dim">Nothing.</p> : null}
          {children.slice(0, MANY).map((child) => (
            <StepButton key={child.id} step={child} select={select} />
          ))}
          {children.length > MANY ? <p class="dim">and {children.length - MANY} more</p> : null}
        </>
      ) : null}
      <p class="links">
        {letter === undefined ? (
          <>
            <Link href={`/events/${id}`}>All about this event</Link>
            <Link href={`${actorPath(actor)}?tab=history&at=${seq}`}>{readable(actor)} at that time</Link>
          </>
        ) : (
          <Link href="/letters">Dead letters: replay or drop it</Link>
        )}
      </p>
    </aside>
  );
}

const StepButton = ({ step: { id, title, actor, node }, select }: { readonly step: Step; readonly select: (id: string) => void }) => (
  <button type="button" class={`neighbour ${node.letter === undefined ? "" : "bad"}`} onClick={() => select(id)}>
    <strong>{title}</strong> <span class="id">{readable(actor)}</span>
    {node.letter === undefined ? null : " ✕"}
  </button>
);
