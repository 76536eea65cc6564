// Owns: an actor's name, status, failure, and the operations on it as a whole. Does not own: its state and offers.
import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";
import type { ActorDetail } from "../../../../src/bridges/console/shapes.ts";
import { ActorLink } from "../../ui/actor-link.tsx";
import { Badge } from "../../ui/badge.tsx";
import { bytes, Time } from "../../ui/time.tsx";
import { Operations } from "./operations.tsx";

const PLACES = { memory: "in memory only", disk: "on disk", distributed: "on the cluster" } as const;

export function Header({ actor, reload }: { readonly actor: ActorDetail; readonly reload: () => void }) {
  const { id, kind, key, status, failure, parent, owner, lastAt, seq, stateBytes, persistence, muted } = actor;
  return (
    <header class="actor-header">
      <nav aria-label="Where this is" class="crumbs">
        <Link href="/actors">Actors</Link>
        <span aria-hidden="true">/</span>
        <Link href={`/actors?kind=${encodeURIComponent(kind)}`}>{kind}</Link>
      </nav>
      <div class="row">
        <h1 class="id">{key}</h1>
        <Badge word={status} />
        {muted === true ? (
          <span class="badge warning" title="A fork: what it sends is recorded, never delivered.">
            muted fork
          </span>
        ) : null}
        <span class="grow" />
        <Operations actor={actor} reload={reload} />
      </div>
      <dl class="actor-facts">
        <Fact name="Event" value={<span class="number">{seq.toLocaleString()}</span>} />
        {lastAt === undefined ? null : <Fact name="Last message" value={<Time at={lastAt} />} />}
        <Fact name="State" value={<span class="number">{bytes(stateBytes)}</span>} />
        <Fact name="Stored" value={PLACES[persistence]} />
        {owner === undefined ? null : <Fact name="Owner" value={<span class="id">{owner}</span>} />}
        {parent === undefined ? null : <Fact name="Parent" value={<ActorLink id={parent} />} />}
      </dl>
      {failure === undefined ? null : (
        <div class="state error" role="alert">
          <strong>It failed: {failure.message}</strong> <code>{failure.code}</code>
          {failure.seq === undefined ? null : <Link href={`/actors/${id}?tab=history&at=${failure.seq}`}>See event {failure.seq}</Link>}
          {failure.at === undefined ? null : <Time at={failure.at} />}
        </div>
      )}
    </header>
  );
}

const Fact = ({ name, value }: { readonly name: string; readonly value: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);
