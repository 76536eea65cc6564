// Owns: where an actor's links lead for the chosen viewer, and what that viewer may do there. Does not own: choosing the viewer, on the tab
// with the offers.
import type { ActorDetail, LinkShape, OfferShape, SurfaceShape } from "../../../../src/bridges/console/shapes.ts";
import { can } from "../../about.ts";
import { actorPath, get } from "../../api.ts";
import { useResource } from "../../resource.ts";
import { ActorLink } from "../../ui/actor-link.tsx";
import { None } from "../../ui/none.tsx";
import { Empty, ErrorNote, Unavailable } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { principalName } from "../../ui/who.tsx";
import { surfaceQuery, useViewer } from "../../viewer.ts";

const MOST_KEYS = 5;

export function Links({ actor }: { readonly actor: ActorDetail }) {
  return (
    <section class="whole">
      <h2>Links</h2>
      {can("run") ? <LinkList actor={actor} /> : <Unavailable ability="run" />}
    </section>
  );
}

function LinkList({ actor: { id, seq } }: { readonly actor: ActorDetail }) {
  const viewer = useViewer();
  const query = surfaceQuery(viewer);
  const surface = useResource<SurfaceShape>(`links ${JSON.stringify(query)} ${id} ${seq}`, (signal) =>
    get(`${actorPath(id)}/surface`, query, signal),
  );
  if (surface.error.value !== undefined) return <ErrorNote error={surface.error.value} retry={surface.reload} />;
  if (surface.data.value === undefined) return null;
  const { links, offers } = surface.data.value;
  const who = principalName(viewer.principal);
  if (links.length === 0)
    return <Empty title="No links">Its kind links to no other actor for {who} now. Choose another viewer under Tools and access.</Empty>;
  return (
    <>
      <p class="dim">As {who} has them. Choose another viewer under Tools and access.</p>
      <Table
        caption="Links"
        rows={links}
        keyOf={({ prefix }) => prefix}
        columns={[
          { head: "Prefix", cell: ({ prefix }) => <code>{prefix === "" ? "(none)" : prefix}</code> },
          { head: "Leads to", cell: (link) => <Target link={link} /> },
          { head: "May use", cell: ({ prefix }) => rights(offers.filter((offer) => offer.link === prefix)) },
        ]}
      />
    </>
  );
}

function Target({ link: { to, keys, reason } }: { readonly link: LinkShape }) {
  if (to !== undefined) return <ActorLink id={to} />;
  if (keys === true) return <>all actors of its kind that the viewer may address, by key</>;
  if (keys !== undefined)
    return (
      <span title={keys.join("\n")}>
        {keys.slice(0, MOST_KEYS).join(", ")}
        {keys.length > MOST_KEYS ? ` and ${keys.length - MOST_KEYS} more` : ""}, by key
      </span>
    );
  return <span class="dim">{reason ?? "nothing now"}</span>;
}

function rights(offers: readonly OfferShape[]) {
  const on = offers.filter((offer) => offer.on);
  if (offers.length === 0) return <None />;
  return (
    <span title={offers.map(({ name, on: isOn, reason }) => `${name}: ${isOn ? "on" : (reason ?? "off")}`).join("\n")}>
      {on.length} of {offers.length} offers
    </span>
  );
}
