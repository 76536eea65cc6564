// Owns: what an actor offers to any viewer, and why something is off; calls as that viewer, or as the operator. Does not own: the access
// rule and the joined surface (mcp/source).

import {
  type ActorId,
  type Behaviour,
  type CallOptions,
  type Engine,
  isJsonObject,
  type Json,
  type JsonObject,
  type ListName,
  type Offer,
  type OfferRef,
  type Reply,
  type Source,
  type Status,
  type Surface,
  type Viewer,
} from "../../core/contract/index.ts";
import {
  getOwn,
  isTexts,
  kindOf,
  memoize,
  missingScopes,
  missingScopesMessage,
  omitUndefined,
  scopesOf,
} from "../../core/contract/internal.ts";
import { clientResult } from "../../mcp/gateway/index.ts";
import { firstState } from "../../mcp/source/actor-views.ts";
import { cast } from "../../mcp/source/index.ts";
import type { ActorState } from "../operate/index.ts";
import type { ConsoleData, RunningServer } from "./data.ts";
import { actorOf, badRequest, behaviourOf, choiceIn, notAvailable, notFound, objectIn, serverOf } from "./requests.ts";
import type { ConsoleRequest, ConsoleRoute } from "./routes.ts";
import type { CallOutcome, LinkShape, OfferShape, SurfaceShape, ViewerShape, ViewerToken } from "./shapes.ts";

const MAX_SCOPES = 100;
const LISTS = ["tools", "resources", "prompts"] as const;
const LIST_MODES = ["dynamic", "static"] as const;
type ListMode = (typeof LIST_MODES)[number];

const VIEWER = {
  type: "object",
  properties: {
    principal: { type: "string", maxLength: 1_024 },
    scopes: { type: "array", items: { type: "string" }, maxItems: MAX_SCOPES },
    claims: { type: "object" },
  },
};

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
  {
    verb: "POST",
    path: "/actors/:kind/:key/call",
    summary: "Calls a tool, reads a resource or gets a prompt of an actor: as the operator who calls, or, in development, as any viewer.",
    body: {
      type: "object",
      properties: {
        offer: { type: "string", pattern: "^(tools|resources|prompts)/.", description: "Such as tools/add." },
        arguments: { type: "object" },
        as: VIEWER,
        begin: { type: "boolean", description: "The actor may begin with this call." },
        key: { type: "string", minLength: 1, maxLength: 512 },
        answers: { type: "object", description: "To the questions (`needs`) of an earlier reply." },
        can: { type: "array", items: { type: "string" }, description: "What the client supports: elicitation, sampling, roots." },
        withResult: { type: "boolean", description: "Also answer with what an MCP client would get." },
      },
      required: ["offer"],
    },
    answers: "CallOutcome",
    handle: call,
  },
  {
    verb: "POST",
    path: "/viewer-tokens",
    summary: "In development: a bearer token with which an MCP client of this machine is any viewer, for an hour.",
    body: VIEWER,
    answers: "ViewerToken",
    handle: viewerToken,
  },
];

// By engine, since development replaces it together with its kinds.
const castsOf = memoize((_engine: Engine) => new Map<string, Source>());

/** The actors that are reached from one of this kind, as clients see them from there. */
function castAs({ engine, kinds }: RunningServer, kind: string): Source {
  const casts = castsOf(engine);
  let source = casts.get(kind);
  if (source === undefined) casts.set(kind, (source = cast({ engine, kinds, as: kind })));
  return source;
}

function behaviourIn(data: ConsoleData, id: ActorId): Behaviour {
  const behaviour = behaviourOf(data, id);
  if (behaviour === undefined)
    throw notAvailable(`No module that is served defines the kind "${kindOf(id)}", so it is unknown what it offers.`);
  return behaviour;
}

// ── the surface ─────────────────────────────────────────────────────────────

function viewerIn(request: ConsoleRequest): ViewerShape {
  const scopes = (request.query.get("scopes") ?? "").split(/[,\s]+/).filter((scope) => scope !== "");
  if (scopes.length > MAX_SCOPES) throw badRequest(`A viewer has at most ${MAX_SCOPES} scopes.`);
  const principal = request.query.get("principal");
  return {
    scopes,
    ...(principal !== null && principal !== "" && { principal }),
    ...omitUndefined({ claims: objectIn(request, "claims") }),
  };
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
  const { behaviour, lists, joined, viewer } = view;
  const ref: OfferRef = `${list}/${offer.name}`;
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

// ── calls ───────────────────────────────────────────────────────────────────

const OFFER = /^(?:tools|resources|prompts)\/./;
const isOfferRef = (value: unknown): value is OfferRef => typeof value === "string" && OFFER.test(value);

/** Throws `NOT_FOUND`: a key that was mistyped must start no actor, so a call begins one only where it says so. */
async function statusOf(behaviour: Behaviour, id: ActorId, { body }: ConsoleRequest, { reader }: ConsoleData): Promise<Status | undefined> {
  const found = await reader.state(id);
  if (found !== undefined) return found.status;
  if (body["begin"] !== true) throw notFound(`There is no actor ${id}: add "begin": true, and it begins with this call.`);
  refuseUnreachable(behaviour);
  return undefined;
}

/** Throws `NOT_AVAILABLE`. */
function refuseUnreachable({ kind, per }: Behaviour): void {
  if (per !== "handle") return;
  throw notAvailable(`A ${kind} begins when a client calls its start tool, which gives the client a handle: call that in the playground.`);
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

async function call(request: ConsoleRequest, data: ConsoleData): Promise<CallOutcome> {
  const id = actorOf(request);
  const { offer, arguments: args = {} } = request.body;
  if (!isOfferRef(offer)) throw badRequest("offer must name a tool, a resource or a prompt, such as tools/add.");
  const viewer = callerIn(request, data);
  const from = data.now();
  if (data.running === undefined) {
    if (data.operate === undefined) throw notAvailable("Nothing runs here: this is a history that is only read.");
    const reply = await data.operate("call", { actor: id, action: offer, args, as: viewer.principal ?? "operator", scopes: viewer.scopes });
    return { reply, ms: data.now() - from };
  }
  const server = serverOf(data);
  const behaviour = behaviourIn(data, id);
  const status = await statusOf(behaviour, id, request, data);
  if (status === "stopped") throw notAvailable(`${id} has stopped: it takes no calls.`);
  let receipt: CallOutcome["receipt"];
  const source = castAs(server, kindOf(id));
  const reply = await source.act({ ...viewer, self: id }, offer, args, {
    ...optionsIn(request),
    signal: request.disconnected,
    onReceipt({ actor, seq, head }) {
      receipt = { actor, seq, head };
    },
  });
  const ms = data.now() - from;
  const result = request.body["withResult"] === true ? await resultOf(source, { ...viewer, self: id }, offer, reply) : undefined;
  return { reply: { ...reply }, ms, ...omitUndefined({ receipt, result }) };
}

async function resultOf(source: Source, viewer: Viewer, ref: OfferRef, reply: Reply): Promise<JsonObject | undefined> {
  const { catalogue } = await source.surface(viewer);
  const list = LISTS.find((one) => ref.startsWith(`${one}/`)) ?? "tools";
  const offer = catalogue[list].find(({ name }) => ref === `${list}/${name}`);
  return offer === undefined ? undefined : clientResult(list, reply, offer.definition);
}

function callerIn({ body, caller }: ConsoleRequest, { about, running }: ConsoleData): Viewer {
  const { as } = body;
  if (as === undefined)
    return { principal: caller.principal ?? "operator", scopes: caller.scopes, ...omitUndefined({ claims: caller.claims }) };
  if (running === undefined || !about.development) throw notAvailable('Only "troupe dev" calls as another user: leave "as" away.');
  return viewerOf(isJsonObject(as) ? as : {});
}

const viewerOf = ({ principal, scopes, claims }: JsonObject): ViewerShape => ({
  scopes: isTexts(scopes) ? scopes : [],
  ...(typeof principal === "string" && principal !== "" && { principal }),
  ...(isJsonObject(claims) && { claims }),
});

const MAX_TOKEN_BYTES = 6_000;

async function viewerToken({ body }: ConsoleRequest, { about, viewerToken: issue }: ConsoleData): Promise<ViewerToken> {
  if (issue === undefined || !about.development)
    throw notAvailable('Only "troupe dev" on this machine connects clients as another user: use a key or token of theirs.');
  const issued = issue(viewerOf(body));
  // A header that is longer might be refused on its way.
  if (issued.token.length > MAX_TOKEN_BYTES) throw badRequest("These scopes and claims are too long for a token: give fewer.");
  return issued;
}

const optionsIn = ({ body: { key, answers, can } }: ConsoleRequest): CallOptions => ({
  ...(typeof key === "string" && { key }),
  ...(isJsonObject(answers) && { answers }),
  ...(isTexts(can) && { can }),
});
