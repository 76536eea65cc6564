// Owns: making a kind of actor from its definition. Does not own: its parts, each of which is a file of this folder.
import {
  type Catalogue,
  DEFAULT_POLICY,
  isJsonObject,
  type Json,
  type Message,
  type OfferRef,
  type Per,
  type Policy,
  REDACTED,
  type Surface,
  TroupeError,
  type Viewer,
} from "../contract/index.ts";
import { freezeDeep, isNoticeOfChild, isReplyAction, markStatic, omitUndefined, storedContext } from "../contract/internal.ts";
import { describeIssues } from "../schema/index.ts";
import { type Addresses, addressesOf } from "./address.ts";
import { type Action, compileMessage, compilePrompt, compileReply, compileResource, compileTool, compileUndo } from "./actions.ts";
import { misfitOf, stateMisfits } from "./author-errors.ts";
import { offBy, surfaceOf } from "./availability.ts";
import type { AnyDefinition } from "./any-definition.ts";
import type { Definition, Described, Kind, KindTypes, MessagesOf } from "./definition.ts";
import { compileLink, linkArgumentsOf } from "./links.ts";
import { actorId, checkKind, keyOf } from "./names.ts";
import { seeded } from "./random.ts";
import { readOnly } from "./read-only.ts";
import { receive, view } from "./receive.ts";
import { actorViewer, Roles, type SeenBy } from "./roles.ts";
import { type Check, compileCheck } from "./schema.ts";
import { toJson } from "./to-json.ts";
import { undoPlan } from "./undo.ts";
import { validateDefinition } from "./validate-definition.ts";

/**
 * A kind of actor, from its definition: checked and compiled here (`BAD_DEFINITION`, `BAD_NAME`), run by any engine. Its turns are pure,
 * their states frozen (laws 1, 3, 4; C3).
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import * as z from "zod";
 *
 * export const counter = actor("counter", {
 *   description: "A counter that everybody shares.",
 *   state: z.object({ n: z.number().default(0) }),
 *   tools: {
 *     add: {
 *       description: "Add to it.",
 *       input: z.object({ by: z.number().default(1) }),
 *       run: ({ state, args }) => (state.n += args.by),
 *     },
 *     read: { description: "Read it.", view: ({ state }) => state.n },
 *   },
 * });
 * ```
 */
export function actor<
  const K extends string,
  S extends object,
  TI,
  TO,
  const RU,
  const RR,
  PI,
  MI,
  MR,
  MN extends string = never,
  MO = unknown,
  AN extends string = never,
  P extends Per = "shared",
  RP = unknown,
  RI = unknown,
>(
  kind: K,
  definition: Definition<S, TI, TO, RU, RR, PI, MI, MR, MN, MO, AN, P, RP, RI> & Described,
): Kind<K, S, MessagesOf<MI, MN>, MO, KindTypes<TI, TO, P>>;
export function actor(kind: string, definition: Partial<AnyDefinition>): object {
  checkKind(kind);
  validateDefinition(kind, definition);
  const roles = new Roles(definition.allow ?? {});
  const hasRoles = Object.keys(definition.allow ?? {}).length > 0;
  const seen: SeenBy = (viewer, onFault) => actorViewer(kind, hasRoles ? roles : undefined, viewer, onFault);
  const version = positive(definition.version ?? 1, `${kind}: version`);
  const compiled = {
    tools: Object.entries(definition.tools ?? {}).map(([name, tool]) => compileTool(kind, name, tool, roles)),
    resources: Object.entries(definition.resources ?? {}).map(([name, resource]) => compileResource(kind, name, resource, roles)),
    prompts: Object.entries(definition.prompts ?? {}).map(([name, prompt]) => compilePrompt(kind, name, prompt, roles)),
  };
  const offered = [...compiled.tools, ...compiled.resources, ...compiled.prompts].map((one) => one.action);
  const policy = policyOf(kind, definition);
  const check: Check = definition.state === undefined ? (value) => ({ value }) : compileCheck(definition.state, `${kind}, state`);
  const misfit = misfitOf(check);
  const addresses = addressesOf(kind, Object.keys(definition.messages ?? {}), Object.keys(definition.tools ?? {}));
  const actions = Object.assign(new Map<string, Action>(offered.map((action) => [action.name, action])), {
    minEveryMs: policy.minEveryMs,
    misfit,
    seen,
    replies: new Map(Object.entries(definition.replies ?? {}).map(([name, reply]) => [name, compileReply(kind, name, reply)])),
    address: addresses.at,
  });
  for (const [name, message] of Object.entries(definition.messages ?? {})) actions.set(name, compileMessage(kind, name, message));
  const undo = undoPlan(kind, definition, actions);
  if (undo !== undefined) {
    const tool = compileUndo(kind, undo);
    compiled.tools.push(tool);
    offered.push(tool.action);
    actions.set(tool.action.name, tool.action);
  }
  const links = Object.entries(definition.links ?? {}).map(([prefix, link]) => compileLink(kind, prefix, link, roles));
  const catalogue: Catalogue = freezeDeep({
    tools: compiled.tools.map((one) => one.offer),
    resources: compiled.resources.map((one) => one.offer),
    prompts: compiled.prompts.map((one) => one.offer),
    // Present even if empty: only then is it known without a state which actors a viewer can reach.
    links: Object.fromEntries(links.map(({ prefix, kinds }) => [prefix, kinds])),
    ...linkArgumentsOf(links),
  });
  const fits = stateCheck(kind, definition, check);
  const { surface, constant } = surfaceOf(catalogue, offered, links, misfit);
  const surfaceNow = (state: object, viewer: Viewer, onFault?: (error: TroupeError) => void): Surface =>
    surface(frozen(state), seen(viewer, onFault), onFault);
  const migrate = definition.migrate?.bind(definition);

  return Object.freeze({
    kind,
    description: definition.description,
    ...(definition.title !== undefined && { title: definition.title }),
    version,
    policy,
    per: definition.per ?? "shared",
    ...(definition.autoStart !== undefined && { autoStart: definition.autoStart }),
    catalogue,
    initial: (key: string, first: Message) => initialState(definition, fits, key, first, seen),
    ...(migrate !== undefined && { migrate: (state: Json, from: number) => fits(migrate({ state, from })) }),
    // The callers of an actor that has stopped have their replies: what comes back from other actors is for none. Its children stop with it,
    // so that one has just ended by itself is no news, and no operator could do anything about a dead letter.
    lapses: (message) => isReplyAction(message.action) || isNoticeOfChild(message),
    receive: (state: object, message: Message, life?: string, seq?: number) => receive(actions, state, message, life, seq),
    view: (state, action, args, viewer, self, now = 0) =>
      view(actions, frozen(state), action, args, seen(viewer), self === undefined ? "" : keyOf(self), now),
    surface: constant ? markStatic(surfaceNow) : surfaceNow,
    offBy(state: object, viewer: Viewer, ref: OfferRef) {
      const action = offered.find((one) => one.ref === ref);
      return action === undefined ? undefined : offBy(action, readOnly(frozen(state)), seen(viewer));
    },
    ...(hasRoles && { rolesFor: (ref: OfferRef) => offered.find((one) => one.ref === ref)?.allow?.roles ?? [] }),
    ...(definition.state !== undefined && { misfits: stateMisfits(check) }),
    ...(hasRoles && { roles: (viewer: Viewer) => roles.of(viewer) }),
    // Only for kinds with secret arguments: messages of others need not be redacted or sealed.
    ...([...actions.values()].some(({ secret }) => secret !== undefined) && {
      redact: (message: Message) => redacted(actions.get(message.action), message),
    }),
    id: (key: string) => actorId(kind, key),
    message: (action: string) => Object.freeze({ kind, action }),
    tool: (name: string) => Object.freeze({ kind, action: `tools/${name}` }),
    ...addresses,
  } satisfies Omit<Kind<string, object, Readonly<Record<string, unknown>>>, "at" | "each"> & Addresses);
}

// A state from an engine is frozen; one that a caller read from a store may not be. If the root is frozen, all of it is.
function frozen(state: object): object {
  return Object.isFrozen(state) ? state : freezeDeep(state);
}

function initialState(definition: AnyDefinition, fits: (state: unknown) => object, key: string, first: Message, seen: SeenBy): object {
  if (definition.initial === undefined) return fits({});
  const { random, id } = seeded(first.seed);
  return fits(
    definition.initial({ key, args: first.start ?? undefined, now: first.at, viewer: first.viewer && seen(first.viewer), random, id }),
  );
}

/** Checks a state against its schema and freezes it. Refuses a definition without an initial state. */
function stateCheck(kind: string, definition: AnyDefinition, check: Check): (state: unknown) => object {
  if (definition.state === undefined && definition.initial === undefined) {
    throw new TroupeError("BAD_DEFINITION", `${kind} has no state: give \`state\` (a schema with defaults) or \`initial\`.`);
  }
  const fits = (state: unknown): object => {
    const checked = check(state);
    if (checked.issues !== undefined) {
      throw new TroupeError(
        "BAD_DEFINITION",
        `A state of ${kind} does not fit its schema: ${describeIssues(checked.issues)}. Give defaults, \`initial\` or \`migrate\`.`,
      );
    }
    const { value } = checked;
    if (typeof value === "object" && value !== null) return freezeDeep(value);
    throw new TroupeError("BAD_DEFINITION", `A state of ${kind} must be an object: wrap a single value, as in { count: 0 }.`);
  };
  if (definition.initial === undefined) toJson(fits({}), `The first state of ${kind}`, "BAD_DEFINITION");
  return fits;
}

function policyOf(kind: string, given: Partial<Policy>): Policy {
  const { persistence, owner, idleMs, expireMs, workMs, minEveryMs, mailbox, maxStateBytes, restart } = {
    ...DEFAULT_POLICY,
    ...omitUndefined(given),
  };
  const limits = { idleMs, workMs, minEveryMs, mailbox, maxStateBytes, ...(expireMs !== undefined && { expireMs }) };
  const restarts = restart && { "restart.max": restart.max, "restart.withinMs": restart.withinMs };
  for (const [name, value] of Object.entries({ ...limits, ...restarts })) {
    if (!(value > 0)) throw new TroupeError("BAD_DEFINITION", `${kind}: ${name} must be a number above 0.`);
  }
  return Object.freeze({ persistence, owner, ...limits, ...(restart !== undefined && { restart }) });
}

function positive(value: number, where: string): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new TroupeError("BAD_DEFINITION", `${where} must be a whole number from 1.`);
}

function redacted(action: Action | undefined, message: Message): Json {
  const { args } = message;
  if (isReplyAction(message.action) && isJsonObject(args)) {
    const { context } = args;
    const stored = storedContext(context);
    return stored === undefined || stored === context ? args : { ...args, context: stored };
  }
  if (action?.secret === undefined || !isJsonObject(args)) return args;
  const result: Record<string, Json> = { ...args };
  for (const name of action.secret) if (Object.hasOwn(result, name)) result[name] = REDACTED;
  return result;
}
