// Owns: the page of one event: who, what, when, why, how long, and the texts that were hashed. Does not own: what followed (causes.tsx).
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Link, useParams } from "wouter-preact";
import type { EventDetail, StateDiff } from "../../../src/bridges/console/shapes.ts";
import { actorPath, get } from "../api.ts";
import { changeOf } from "../chain-api.ts";
import { checkHashes, digestHere, type HashCheck, headerIn } from "../chain-check.ts";
import { reasonOf } from "../operator-events.ts";
import { useResource } from "../resource.ts";
import { ActorLink, EventLink, readable } from "../ui/actor-link.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Diff } from "../ui/diff.tsx";
import { Fact, Facts } from "../ui/facts.tsx";
import { JsonTree } from "../ui/json-tree.tsx";
import { Origin } from "../ui/origin.tsx";
import { Empty, ErrorNote, Loading } from "../ui/states.tsx";
import { duration, Time } from "../ui/time.tsx";
import { ReplyPart, ValuePart } from "../ui/value-part.tsx";
import { Who } from "../ui/who.tsx";
import "./actor/actor.css";
import "./event.css";

export function Event() {
  const { id = "" } = useParams();
  return <One key={id} id={id} />;
}

function One({ id }: { readonly id: string }) {
  const event = useResource<EventDetail>(id, (signal) => get(`/events/${id}`, {}, signal));
  const { data, error } = event;
  useEffect(() => {
    if (data.value !== undefined) document.title = `${data.value.type} · ${readable(data.value.actor)} · Troupe console`;
  }, [data.value]);
  if (error.value !== undefined && data.value === undefined)
    return (
      <>
        <h1>Event</h1>
        {error.value.status === 404 ? (
          <Empty title="There is no such event">
            <span>
              Its actor may have been removed. <Link href="/actors">See all actors</Link>.
            </span>
          </Empty>
        ) : (
          <ErrorNote error={error.value} retry={event.reload} />
        )}
      </>
    );
  return data.value === undefined ? <Loading what="the event" /> : <Body event={data.value} />;
}

function Body({ event }: { readonly event: EventDetail }) {
  const { id, actor, seq, type, erased, args, reply, record } = event;
  const checked = useResource<HashCheck>(`hashes ${id}`, async () => await checkHashes(event, digestHere));
  return (
    <article class="event-page">
      <nav aria-label="Where this is" class="crumbs">
        <Link href="/actors">Actors</Link>
        <span aria-hidden="true">/</span>
        <ActorLink id={actor} />
        <span aria-hidden="true">/</span>
        <Link href={`${actorPath(actor)}?tab=history&at=${seq}`}>event {seq.toLocaleString()}</Link>
      </nav>
      <div class="row">
        <h1>{type}</h1>
        <HashBadge check={checked.data.value} />
      </div>
      <EventFacts event={event} />
      <p class="row links">
        <Link href={`/events/${id}/causes`}>What caused it, and what followed</Link>
        <Link href={`${actorPath(actor)}?tab=history&at=${seq}&show=state`}>The state after it</Link>
      </p>
      {erased === true ? (
        <Empty title="Its body was erased">Arguments, reply and changes are no longer known. The header stays, and still verifies.</Empty>
      ) : null}
      <div class="columns">
        <div>
          <Part title="Call">
            <ValuePart label="Arguments" value={args} none="None." />
            <ReplyPart reply={reply} none="None." />
          </Part>
        </div>
        <div>
          <Part title="Changed">{erased === true ? <p class="dim">Not known.</p> : <Change event={event} />}</Part>
          <Part title="Sent">
            <Sent event={event} />
          </Part>
        </div>
      </div>
      {record === undefined || record === null ? null : (
        <Part title="Record of its work">
          <JsonTree value={record} label="the record of its work" />
        </Part>
      )}
      <Hashes event={event} check={checked.data.value} />
    </article>
  );
}

const Part = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }) => (
  <section>
    <h2>{title}</h2>
    {children}
  </section>
);

function HashBadge({ check }: { readonly check: HashCheck | undefined }) {
  if (check === undefined) return null;
  if (check.header && check.body !== false)
    return (
      <span class="badge good" title="Its hashes were computed in this page">
        ✓ hashes match
      </span>
    );
  return <span class="badge bad">hashes do not match</span>;
}

function EventFacts({ event }: { readonly event: EventDetail }) {
  const { at, ms, cause, version, life } = event;
  return (
    <Facts>
      <Fact name="Who">
        <Who row={event} />
      </Fact>
      <Fact name="When">
        <Time at={at} />
      </Fact>
      <Fact name="Took">{ms === undefined ? undefined : duration(ms)}</Fact>
      <Fact name="Reason">{reasonOf(event)}</Fact>
      <Fact name="Caused by">{cause === undefined ? undefined : <Cause id={cause} />}</Fact>
      <Fact name="Request">
        <Origin row={event} whole />
      </Fact>
      <Fact name="Version of its kind">{version}</Fact>
      <Fact name="Life">
        <code>{life.slice(0, 12)}</code>
      </Fact>
    </Facts>
  );
}

function Cause({ id }: { readonly id: string }) {
  const { data } = useResource<EventDetail | undefined>(
    `cause ${id}`,
    async (signal) => await get<EventDetail>(`/events/${id}`, {}, signal),
  );
  if (data.value === undefined) return <EventLink id={id} />;
  return (
    <>
      <Link href={`/events/${id}`}>{data.value.type}</Link> on <ActorLink id={data.value.actor} />
    </>
  );
}

function Change({ event: { actor, seq } }: { readonly event: EventDetail }) {
  const diff = useResource<StateDiff>(`diff ${actor} ${seq}`, async (signal) => await changeOf(actor, seq, signal));
  const { data, error } = diff;
  if (error.value !== undefined) return <ErrorNote error={error.value} retry={diff.reload} />;
  if (data.value === undefined) return <Loading what="what it changed" />;
  return <Diff differences={data.value.differences} none="Nothing of the state." />;
}

function Sent({ event: { id, sentIds } }: { readonly event: EventDetail }) {
  if (sentIds.length === 0) return <p class="dim">No messages.</p>;
  return (
    <p>
      {sentIds.length === 1 ? "1 message" : `${sentIds.length.toLocaleString()} messages`}.{" "}
      <Link href={`/events/${id}/causes`}>See what became of {sentIds.length === 1 ? "it" : "them"}</Link>.
    </p>
  );
}

function Hashes({ event: { id, header, body }, check }: { readonly event: EventDetail; readonly check: HashCheck | undefined }) {
  const parsed = headerIn(header);
  return (
    <section class="hashes">
      <h2>Hashes</h2>
      <p class="dim">
        The id is the SHA-256 of the header, which names the event before and the SHA-256 of the body. This page computed both.
      </p>
      <Facts>
        <Fact name="Id">
          <code>{id}</code> <Matches ok={check?.header} />
        </Fact>
        <Fact name="Hash of the body">
          <code>{parsed?.body ?? "not known"}</code>{" "}
          {body === undefined ? <span class="badge dim">body erased</span> : <Matches ok={check?.body} />}
        </Fact>
        <Fact name="Event before">
          {parsed === undefined || parsed.parent === null ? (
            <span class="dim">none: it is the first</span>
          ) : (
            <Link href={`/events/${parsed.parent}`} class="id">
              {parsed.parent}
            </Link>
          )}
        </Fact>
      </Facts>
      <Raw title="Header" text={header} />
      {body === undefined ? null : <Raw title="Body" text={body} />}
    </section>
  );
}

const Matches = ({ ok }: { readonly ok: boolean | undefined }) =>
  ok === undefined ? null : ok ? <span class="badge good">✓ matches</span> : <span class="badge bad">does not match</span>;

const Raw = ({ title, text }: { readonly title: string; readonly text: string }) => (
  <details class="raw">
    <summary>
      {title}, as it was hashed <span class="dim">({text.length.toLocaleString()} characters)</span>
    </summary>
    <div class="row end">
      <CopyButton text={text} what={`the ${title.toLowerCase()}`} />
    </div>
    {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard */}
    <pre tabIndex={0} role="region" aria-label={`${title}, as it was hashed`}>
      {text}
    </pre>
  </details>
);
