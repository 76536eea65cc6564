// Owns: forking an actor at an event, and going back to one. Does not own: doing it (the API).
import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import type { ActorDetail, EventRow, PageOf, StateDiff } from "../../../../../src/bridges/console/shapes.ts";
import { actorPath, get, post } from "../../../api.ts";
import { useAction } from "../../../operation.ts";
import { useResource } from "../../../resource.ts";
import { readable } from "../../../ui/actor-link.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Diff } from "../../../ui/diff.tsx";
import { ErrorNote, Loading } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { Who } from "../../../ui/who.tsx";

export function ForkDialog({
  actor: { id, kind, key },
  at,
  close,
}: {
  readonly actor: ActorDetail;
  readonly at: number;
  readonly close: () => void;
}) {
  const [, navigate] = useLocation();
  const [name, setName] = useState(`${key}-at-${at}`);
  const { error, busy, act } = useAction();
  const to = `${kind}/${encodeURIComponent(name)}`;
  const fork = (): void =>
    void act(async () => {
      await post(`${actorPath(id)}/fork`, { to, at });
      toast(`${readable(to)} begins as ${readable(id)} was at event ${at}.`);
      close();
      navigate(actorPath(to));
    });
  return (
    <Dialog title={`Fork ${readable(id)} at event ${at}`} close={close} submit={fork}>
      <p>
        A new actor begins with the state and the history up to this event. This one does not change. What a fork sends by itself is
        recorded, not delivered.
      </p>
      <label class="field">
        <span>Key of the new actor</span>
        <input value={name} onInput={(event) => setName(event.currentTarget.value)} required autocomplete="off" spellcheck={false} />
      </label>
      {error === undefined ? null : <ErrorNote error={error} />}
      <div class="row end">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={busy || name === ""}>
          Fork
        </button>
      </div>
    </Dialog>
  );
}

/** Events that are examined for what they sent. */
const MAX_EXAMINED = 1_000;
const NAMED = 8;

interface Sent {
  /** All after the event. */
  readonly later: readonly EventRow[];
  /** Those that sent messages. */
  readonly senders: readonly EventRow[];
  readonly messages: number;
  /** No event after it was left out. */
  readonly isComplete: boolean;
}

async function sentAfter(id: string, at: number, signal: AbortSignal): Promise<Sent> {
  const { items, next } = await get<PageOf<EventRow>>(`${actorPath(id)}/events`, { after: at, limit: MAX_EXAMINED }, signal);
  const senders = items.filter(({ sent }) => sent > 0);
  return { later: items, senders, messages: senders.reduce((sum, { sent }) => sum + sent, 0), isComplete: next === undefined };
}

export function RevertDialog({
  actor: { id, seq },
  at,
  close,
  reverted,
}: {
  readonly actor: ActorDetail;
  /** The event whose state returns. */
  readonly at: number;
  readonly close: () => void;
  readonly reverted: (seq: number) => void;
}) {
  const [reason, setReason] = useState("");
  const [force, setForce] = useState(false);
  const { error, busy, act } = useAction();
  const sent = useResource<Sent>(`sent ${id} ${at} ${seq}`, async (signal) => await sentAfter(id, at, signal));
  const diff = useResource<StateDiff>(`dropped ${id} ${at} ${seq}`, (signal) =>
    get(`${actorPath(id)}/diff`, { from: seq, to: at }, signal),
  );
  const hasSent = (sent.data.value?.messages ?? 0) > 0 || error?.code === "SENT";
  const revert = (): void =>
    void act(async () => {
      const event = await post<{ readonly seq: number }>(`${actorPath(id)}/revert`, { to: at, reason, ...(force ? { force } : {}) });
      toast(`${readable(id)} is as it was at event ${at}.`);
      close();
      reverted(event.seq);
    });
  const after = seq - at;
  const missing =
    reason.trim() === "" ? "Give a reason: the history records it." : hasSent && !force ? "Confirm that messages were sent." : "";
  return (
    <Dialog title={`Revert ${readable(id)} to event ${at}`} focusOn="input[name=reason]" close={close} submit={revert}>
      <p>
        The state becomes that of event {at} again, by a new event with your reason.{" "}
        <strong>{after === 1 ? `Event ${seq} loses its effect` : `The ${after.toLocaleString()} events after it lose their effect`}</strong>
        , and {after === 1 ? "stays" : "stay"} in the history.
      </p>
      <Dropped rows={sent.data.value?.later ?? NONE} count={after} />
      <details open>
        <summary>What changes in the state</summary>
        {diff.error.value === undefined ? (
          diff.data.value === undefined ? (
            <Loading what="the difference" />
          ) : (
            <Diff differences={diff.data.value.differences} words={["now", "then"]} none="Nothing: the state is the same now." />
          )
        ) : (
          <ErrorNote error={diff.error.value} retry={diff.reload} />
        )}
      </details>
      {sent.error.value === undefined ? (
        sent.data.value === undefined ? (
          <Loading what="what was sent since" />
        ) : (
          <SentSince sent={sent.data.value} />
        )
      ) : (
        <ErrorNote error={sent.error.value} retry={sent.reload} />
      )}
      <label class="field">
        <span>Reason</span>
        <input
          name="reason"
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
          required
          maxLength={1_000}
          autocomplete="off"
        />
      </label>
      {hasSent ? (
        <label class="check">
          <input type="checkbox" checked={force} onChange={(event) => setForce(event.currentTarget.checked)} /> Revert although messages
          were sent: they are not taken back
        </label>
      ) : null}
      {error === undefined ? null : <ErrorNote error={error} />}
      <div class="row end">
        <button type="button" onClick={close}>
          Cancel
        </button>
        {missing === "" ? null : <small class="dim">{missing}</small>}
        <button type="submit" class="primary bad" disabled={busy || missing !== ""}>
          Revert to event {at}
        </button>
      </div>
    </Dialog>
  );
}

const NONE: readonly EventRow[] = [];

function Dropped({ rows, count }: { readonly rows: readonly EventRow[]; readonly count: number }) {
  if (rows.length === 0) return null;
  return (
    <ul class="dropped" aria-label="Events that lose their effect">
      {rows.slice(0, NAMED).map((row) => (
        <li key={row.seq}>
          #{row.seq} <strong>{row.type}</strong> by <Who row={row} />, <Time at={row.at} />
        </li>
      ))}
      {count > NAMED ? <li class="dim">and {(count - NAMED).toLocaleString()} more</li> : null}
    </ul>
  );
}

function SentSince({ sent: { senders, messages, isComplete } }: { readonly sent: Sent }) {
  if (messages === 0 && isComplete) return <p class="dim">No message was sent since.</p>;
  return (
    <div class="sent-since">
      <p>
        <strong>
          {messages.toLocaleString()}
          {isComplete ? "" : " or more"} {messages === 1 ? "message was" : "messages were"} sent since
        </strong>
        , to other actors. Those have acted on them.
      </p>
      <ul>
        {senders.slice(0, NAMED).map(({ seq, type, at, sent: count }) => (
          <li key={seq}>
            #{seq} <strong>{type}</strong> sent {count}, <Time at={at} />
          </li>
        ))}
        {senders.length > NAMED ? <li class="dim">and {senders.length - NAMED} more events</li> : null}
      </ul>
    </div>
  );
}
