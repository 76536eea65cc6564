// Owns: calls as the operator or, in development, as any viewer, and tokens for clients that connect as one. Does not own: what an actor
// offers (surface-routes.ts).

import {
  type ActorId,
  type Behaviour,
  type CallOptions,
  isJsonObject,
  type JsonObject,
  type Reply,
  type Source,
  type Status,
  type Viewer,
} from "../../core/contract/index.ts";
import { isTexts, kindOf, omitUndefined } from "../../core/contract/internal.ts";
import { clientResult } from "../../mcp/gateway/index.ts";
import { offersOf, refOf, splitRef } from "../../mcp/source/names.ts";
import type { ConsoleData } from "./data.ts";
import { actorOf, badRequest, MAX_SCOPES, notAvailable, notFound, serverOf } from "./requests.ts";
import type { ConsoleRequest, ConsoleRoute } from "./routes.ts";
import { behaviourIn, castAs, refuseUnreachable } from "./served-kinds.ts";
import type { CallOutcome, ViewerShape, ViewerToken } from "./shapes.ts";

const VIEWER = {
  type: "object",
  properties: {
    principal: { type: "string", maxLength: 1_024 },
    scopes: { type: "array", items: { type: "string" }, maxItems: MAX_SCOPES },
    claims: { type: "object" },
  },
};

export const callRoutes: readonly ConsoleRoute[] = [
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

/** Throws `NOT_FOUND`: a key that was mistyped must start no actor, so a call begins one only where it says so. */
async function statusOf(behaviour: Behaviour, id: ActorId, { body }: ConsoleRequest, { reader }: ConsoleData): Promise<Status | undefined> {
  const found = await reader.state(id);
  if (found !== undefined) return found.status;
  if (body["begin"] !== true) throw notFound(`There is no actor ${id}: add "begin": true, and it begins with this call.`);
  refuseUnreachable(behaviour);
  return undefined;
}

async function call(request: ConsoleRequest, data: ConsoleData): Promise<CallOutcome> {
  const id = actorOf(request);
  const { offer, arguments: args = {} } = request.body;
  const named = typeof offer === "string" ? splitRef(offer) : undefined;
  if (named === undefined) throw badRequest("offer must name a tool, a resource or a prompt, such as tools/add.");
  const ref = refOf(named.list, named.name);
  const viewer = callerIn(request, data);
  const from = data.now();
  if (data.running === undefined && data.operate !== undefined) {
    const reply = await data.operate("call", { actor: id, action: ref, args, as: viewer.principal ?? "operator", scopes: viewer.scopes });
    return { reply, ms: data.now() - from };
  }
  const server = serverOf(data);
  const behaviour = behaviourIn(data, id);
  const status = await statusOf(behaviour, id, request, data);
  if (status === "stopped") throw notAvailable(`${id} has stopped: it takes no calls.`);
  let receipt: CallOutcome["receipt"];
  const source = castAs(server, kindOf(id));
  const reply = await source.act({ ...viewer, self: id }, ref, args, {
    ...optionsIn(request),
    signal: request.disconnected,
    onReceipt({ actor, seq, head }) {
      receipt = { actor, seq, head };
    },
  });
  const ms = data.now() - from;
  const result = request.body["withResult"] === true ? await resultOf(source, { ...viewer, self: id }, named, reply) : undefined;
  return { reply: { ...reply }, ms, ...omitUndefined({ receipt, result }) };
}

type Named = NonNullable<ReturnType<typeof splitRef>>;

async function resultOf(source: Source, viewer: Viewer, { list, name }: Named, reply: Reply): Promise<JsonObject | undefined> {
  const { catalogue } = await source.surface(viewer);
  const offer = offersOf(catalogue).get(refOf(list, name));
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
