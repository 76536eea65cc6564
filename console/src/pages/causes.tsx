// Owns: the page of what led to an event, and what followed from it, across actors. Does not own: what it shows (causes/explorer.tsx).
import { useEffect } from "preact/hooks";
import { Link, useParams } from "wouter-preact";
import { actorPath } from "../api.ts";
import { ActorLink } from "../ui/actor-link.tsx";
import { Explorer, useCauses } from "./causes/explorer.tsx";

export function Causes() {
  const { id = "" } = useParams();
  return <Tree key={id} id={id} />;
}

function Tree({ id }: { readonly id: string }) {
  const { causes, instead, reload } = useCauses(id);
  useEffect(() => {
    document.title = `Causes${causes === undefined ? "" : ` of ${causes.of.title}`} · Troupe console`;
  }, [causes]);
  if (causes === undefined)
    return (
      <>
        <h1>Causes</h1>
        {instead}
      </>
    );
  return (
    <article class="causes">
      <nav aria-label="Where this is" class="crumbs">
        <Link href="/actors">Actors</Link>
        <span aria-hidden="true">/</span>
        <ActorLink id={causes.of.actor} />
        <span aria-hidden="true">/</span>
        {causes.of.node.letter === undefined ? (
          <Link href={`${actorPath(causes.of.actor)}?tab=history&at=${causes.of.node.seq}`}>
            event {causes.of.node.seq.toLocaleString()}
          </Link>
        ) : (
          <span>dead letter</span>
        )}
      </nav>
      <div class="row">
        <h1>Causes of {causes.of.title}</h1>
        <span class="grow" />
        <button type="button" class="quiet" onClick={reload}>
          Refresh
        </button>
      </div>
      <Explorer causes={causes} />
    </article>
  );
}
