// Owns: an actor's name, status, failure, and the operations on it as a whole. Does not own: its state and offers.
import { Link } from "wouter-preact";
import type { ActorDetail } from "../../../../src/bridges/console/shapes.ts";
import { ActorLink } from "../../ui/actor-link.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Fact, Facts } from "../../ui/facts.tsx";
import { bytes, Time } from "../../ui/time.tsx";
import { Operations } from "./operations.tsx";

const PLACES = { memory: "in memory only", disk: "on disk", distributed: "on the cluster" } as const;

export function Header({ actor, reload }: { readonly actor: ActorDetail; readonly reload: () => void }) {
  const { id, kind, key, status, failure, parent, owner, lastAt, seq, stateBytes, persistence, muted, lastEventAt, lastFault } = actor;
  return (
    <header class="actor-header">
      <nav aria-label="Where this is" class="crumbs">
        <Link href="/actors">Actors</Link>
        <span aria-hidden="true">/</span>
        <Link href={`/actors?kind=${encodeURIComponent(kind)}`}>{kind}</Link>
      </nav>
      <div class="row">
        <h1 class="id">
          {kind}/{key}
        </h1>
        <Badge word={status} />
        {muted === true ? (
          <span class="badge warning" title="A fork: what it sends by itself is recorded, not delivered; its replies are.">
            muted fork
          </span>
        ) : null}
        <span class="grow" />
        <Operations actor={actor} reload={reload} />
      </div>
      <Facts across>
        <Fact name="Event">{seq.toLocaleString()}</Fact>
        <Fact name="Last event">{lastEventAt === undefined ? undefined : <Time at={lastEventAt} />}</Fact>
        <Fact name="Last message">{lastAt === undefined ? "none" : <Time at={lastAt} />}</Fact>
        <Fact name="State">{bytes(stateBytes)}</Fact>
        <Fact name="Stored">{PLACES[persistence]}</Fact>
        <Fact name="Owner">{owner === undefined ? undefined : <span class="id">{owner}</span>}</Fact>
        <Fact name="Parent">{parent === undefined ? undefined : <ActorLink id={parent} />}</Fact>
      </Facts>
      {failure === undefined ? null : (
        <div class="state error" role="alert">
          <strong>It failed: {failure.message}</strong> <code>{failure.code}</code>
          {failure.seq === undefined ? null : <Link href={`/actors/${id}?tab=history&at=${failure.seq}`}>See event {failure.seq}</Link>}
          {failure.at === undefined ? null : <Time at={failure.at} />}
        </div>
      )}
      {lastFault === undefined ? null : (
        <section class="last-fault" aria-label="Last fault">
          <p>
            <strong>Last fault</strong>
            {lastFault.action === undefined ? null : (
              <>
                {" "}
                in <code>{lastFault.action}</code>
              </>
            )}
            <span class="dim">
              {" "}
              <Time at={lastFault.at} />
              {lastFault.count > 1 ? `, ${lastFault.count.toLocaleString()} faults since the server started` : ""}
              {failure === undefined && status === "live" ? ". It takes messages again." : ""}
            </span>
          </p>
          <p class="fault-why">{lastFault.why === "" ? "The log says why." : lastFault.why}</p>
          <p class="links">
            <Link href={`/log?level=error&search=${encodeURIComponent(id)}`}>In the log</Link>
            <Link
              href={`/traffic?status=tool-error${lastFault.action?.startsWith("tools/") === true ? `&search=${encodeURIComponent(lastFault.action.slice("tools/".length))}` : ""}`}
            >
              Failed requests
            </Link>
          </p>
        </section>
      )}
    </header>
  );
}
