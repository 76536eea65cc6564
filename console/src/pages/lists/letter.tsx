// Owns: one dead letter: why, what was sent, and the call that led to it.
import { Link } from "wouter-preact";
import type { LetterRow } from "../../../../src/bridges/console/shapes.ts";
import { actorPath } from "../../api.ts";
import { ActorLink, EventLink, readable } from "../../ui/actor-link.tsx";
import { Fact, Facts } from "../../ui/facts.tsx";
import { JsonTree } from "../../ui/json-tree.tsx";
import { Origin } from "../../ui/origin.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";

export function Letter({
  letter,
  onClose,
  decide,
}: {
  readonly letter: LetterRow;
  readonly onClose: () => void;
  /** Undefined: nothing may be changed here. */
  readonly decide: ((fate: "replay" | "drop") => void) | undefined;
}) {
  const { to, action, args, from, principal, cause, root, why, at, replays } = letter;
  return (
    <Panel
      title={
        <>
          {action} <span class="dim">to</span> {readable(to)}
        </>
      }
      label="Dead letter"
      onClose={onClose}
    >
      <h3>Why it was not delivered</h3>
      <p class="why">{why}</p>
      <h3>What led to it</h3>
      {root === undefined ? (
        <p class="dim">The request that started it is not in a chain here.</p>
      ) : (
        <p>
          <strong>{root.type}</strong> on <ActorLink id={root.actor} />
          {root.principal === undefined ? null : (
            <>
              {" "}
              by <strong>{root.principal}</strong>
            </>
          )}
          , <Time at={root.at} /> <Link href={`${actorPath(root.actor)}?tab=history&at=${root.seq}`}>(event {root.seq})</Link>
        </p>
      )}
      {root === undefined ? null : (
        <p>
          Request: <Origin row={root} whole />
        </p>
      )}
      {cause === undefined ? null : (
        <p>
          <Link class="button small" href={`/events/${cause}/causes`}>
            See what caused it
          </Link>
        </p>
      )}
      {root?.args === undefined ? null : (
        <details>
          <summary>Arguments of that call</summary>
          <JsonTree value={root.args} label="arguments of the call" />
        </details>
      )}
      <h3>The message</h3>
      <Facts>
        <Fact name="To">
          <ActorLink id={to} />
        </Fact>
        <Fact name="From">{from === undefined ? "a client" : <ActorLink id={from} />}</Fact>
        <Fact name="Principal">{principal}</Fact>
        <Fact name="Since">
          <Time at={at} />
        </Fact>
        <Fact name="Replayed">{replays === 0 ? "never" : replays === 1 ? "once" : `${replays} times`}</Fact>
        <Fact name="Sent by event">{cause === undefined ? undefined : <EventLink id={cause} />}</Fact>
      </Facts>
      <h3>Arguments of the message</h3>
      <JsonTree value={args} label="arguments of the message" />
      {decide === undefined ? null : (
        <div class="row panel-actions">
          <button type="button" class="primary" onClick={() => decide("replay")}>
            Replay
          </button>
          <button type="button" class="danger" onClick={() => decide("drop")}>
            Drop
          </button>
        </div>
      )}
    </Panel>
  );
}
