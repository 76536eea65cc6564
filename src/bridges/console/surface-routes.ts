// Owns: what an actor offers to any viewer, and why something is off. Does not own: the access rule and the joined surface (mcp/source),
// calls (call-routes.ts).

import type { ActorId, Behaviour, Json, ListName, Offer, OfferRef, Surface, Viewer } from "../../core/contract/index.ts";
import { getOwn, kindOf, missingScopes, missingScopesMessage, omitUndefined, scopesOf } from "../../core/contract/internal.ts";
import { firstState } from "../../mcp/source/actor-views.ts";
import { LISTS, refOf } from "../../mcp/source/names.ts";
import type { ActorState } from "../operate/index.ts";
import type { ConsoleData } from "./data.ts";
import { actorOf, badRequest, choiceIn, MAX_SCOPES, objectIn, serverOf, textIn } from "./requests.ts";
import type { ConsoleRequest, ConsoleRoute } from "./routes.ts";
import { behaviourIn, castAs, refuseUnreachable } from "./served-kinds.ts";
import type { LinkShape, OfferShape, SurfaceShape, ViewerShape } from "./shapes.ts";

const LIST_MODES = ["dynamic", "static"] as const;
type ListMode = (typeof LIST_MODES)[number];

export const surfaceRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/actors/:kind/:key/surface",
    summary: "What an actor offers to a viewer now: what is on, what is off and why, the current choices, and its links.",
    query: {
      principal: { description: "Of the viewer. Absent: anonymous." },
      scopes: { description: "Of the viewer, separated by commas.", schema: { type: "string" } },
      claims: { description: "Of the viewer's token: a JSON object.", schema: { type: "string" } },
      lists: { description: "How lists are shown.", schema: { type: "string", enum: LIST_MODES, default: "dynamic" } },
    },
    answers: "SurfaceShape",
    handle: surface,
  },
];

function viewerIn(request: ConsoleRequest): ViewerShape {
  const scopes = (request.query.get("scopes") ?? "").split(/[,\s]+/).filter((scope) => scope !== "");
  if (scopes.length > MAX_SCOPES) throw badRequest(`A viewer has at most ${MAX_SCOPES} scopes.`);
  return { scopes, ...omitUndefined({ principal: textIn(request, "principal"), claims: objectIn(request, "claims") }) };
}

async function surface(request: ConsoleRequest, data: ConsoleData): Promise<SurfaceShape> {
  const id = actorOf(request);
  const server = serverOf(data);
  const behaviour = behaviourIn(data, id);
  const given = viewerIn(request);
  const viewer: Viewer = { ...given, self: id };
  const found = (await data.reader.state(id)) ?? beginningOf(behaviour, id, viewer, data.now());
  const lists = choiceIn(request, "lists", LIST_MODES) ?? "dynamic";
  const joined = await castAs(server, kindOf(id)).surface(viewer);
  const own = ownSurface(behaviour, found, viewer);
  const view: ViewOf = { behaviour, found, viewer, lists, joined, own };
  const offers = LISTS.flatMap((list) => joined.catalogue[list].map((offer) => offerShape(list, offer, view)));
  const roles = behaviour.roles?.(viewer);
  return { viewer: given, ...omitUndefined({ roles }), lists, seq: found.seq, offers, links: own === undefined ? [] : linkShapes(own) };
}

interface ViewOf {
  readonly behaviour: Behaviour;
  readonly found: ActorState;
  readonly viewer: Viewer;
  readonly lists: ListMode;
  /** With what it links to. */
  readonly joined: Surface;
  /** The actor's own. Undefined: its code cannot be run. */
  readonly own: Surface | undefined;
}

function ownSurface(behaviour: Behaviour, { state, status, version }: ActorState, viewer: Viewer): Surface | undefined {
  if (behaviour.surface === undefined || version !== behaviour.version || status === "stopped") return undefined;
  try {
    return behaviour.surface(state, viewer);
  } catch {
    return undefined;
  }
}

function offerShape(list: ListName, offer: Offer, view: ViewOf): OfferShape {
  const { behaviour, lists, joined, viewer, own } = view;
  const ref = refOf(list, offer.name);
  const off = getOwn(joined.off, ref);
  const scopes = scopesOf(offer.definition);
  const missing = missingScopes(scopes, viewer.scopes);
  const on = off === undefined && missing.length === 0;
  const reason = typeof off === "string" ? off : off === undefined && missing.length > 0 ? missingScopesMessage(missing) : undefined;
  const link = linkOf(list, offer, view);
  const by = on ? undefined : off === undefined ? "scope" : ruleOf(ref, link, view);
  const roles = link === undefined ? (behaviour.rolesFor?.(ref) ?? []) : [];
  return {
    ref,
    list,
    name: offer.name,
    definition: offer.definition,
    readOnly: offer.readOnly,
    on,
    ...omitUndefined({ reason, by, link, choices: getOwn(joined.choices, ref) }),
    ...(scopes.length > 0 && { scopes }),
    ...(roles.length > 0 && { roles }),
    ...(link !== undefined && getOwn(own?.linkKeys, link) !== undefined && { byArgument: true as const }),
    // Offers whose scopes are missing are listed: a client learns from the refusal what to ask for.
    listed: lists === "dynamic" ? off === undefined : off !== true,
  };
}

function ruleOf(ref: OfferRef, link: string | undefined, { behaviour, found, viewer, own }: ViewOf): OfferShape["by"] {
  if (found.owner !== undefined && found.owner !== viewer.principal) return "owner";
  if (found.status === "stopped") return "stopped";
  if (found.status === "failed" || found.version !== behaviour.version) return "failed";
  if (link !== undefined) return "link";
  if (own === undefined) return undefined;
  try {
    return behaviour.offBy?.(found.state, viewer, ref);
  } catch {
    return "failed";
  }
}

/** The link that an offer comes through; undefined: it is the actor's own. */
function linkOf(list: ListName, { name }: Offer, { behaviour, own }: ViewOf): string | undefined {
  const catalogue = own?.catalogue ?? behaviour.catalogue;
  if (catalogue === undefined || catalogue[list].some((one) => one.name === name)) return undefined;
  const links = Object.keys(catalogue.links ?? own?.links ?? {});
  return links.filter((link) => link === "" || name.startsWith(link)).toSorted((one, other) => other.length - one.length)[0];
}

function linkShapes({ catalogue, links = {}, linkKeys = {}, linksOff = {} }: Surface): readonly LinkShape[] {
  const prefixes = new Set([
    ...Object.keys(catalogue.links ?? {}),
    ...Object.keys(links),
    ...Object.keys(linkKeys),
    ...Object.keys(linksOff),
  ]);
  return [...prefixes].map((prefix) => ({
    prefix,
    ...omitUndefined({ to: getOwn(links, prefix), keys: getOwn(linkKeys, prefix), reason: getOwn(linksOff, prefix) }),
  }));
}

/** As an actor that does not exist would begin. Throws `NOT_AVAILABLE` where it cannot. */
function beginningOf(behaviour: Behaviour, id: ActorId, viewer: Viewer, now: number): ActorState {
  refuseUnreachable(behaviour);
  const { version } = behaviour;
  const none = { uid: "", seq: 0, head: "", status: "live", version, createdAt: now, lastMessageAt: now, messageCount: 0 } as const;
  try {
    const state: Json = JSON.parse(JSON.stringify(firstState(behaviour, id, viewer, now)));
    return { ...none, state };
  } catch {
    // The joined surface says so, too.
    return { ...none, status: "failed", state: null };
  }
}
