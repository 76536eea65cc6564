// Owns: `actorCapability`: a capability whose state is in actors, its definition and how it is checked.
//   Does not own: handlers, state and timers (actor-handlers.ts, actor-state.ts, actor-timers.ts).
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type InitialContext, type Kind, type RunContext, type Value, type WorkContext, actor } from "../../core/actor/index.ts";
import {
  type Frozen,
  type Json,
  type JsonObject,
  type Policy,
  type Snapshot,
  TroupeError,
  isJsonObject,
  systemClock,
} from "../../core/contract/index.ts";
import { BEGIN_ACTION } from "../../core/contract/internal.ts";
import { isStandard } from "../../core/schema/index.ts";
import { ActorHandlers, BEGIN_MESSAGE, type PayloadOf, type UntypedHandler, type UntypedPeriodic } from "./actor-handlers.ts";
import {
  type CapabilityStateDraft,
  type FirstTimes,
  type StartDefinition,
  firstState,
  migratedState,
  parseCapabilityState,
} from "./actor-state.ts";
import { type Timeout, cancellingUnknownWakes, idle, idlePolicy, policyFor, policyOverride } from "./actor-timers.ts";
import { enforcingProvides } from "./capability-contract.ts";
import type { ActorTimes, Acts, Capability, CapabilityState, Given } from "./capability.ts";
import {
  COMMON_KEYS,
  type Described,
  allowOnlyKeys,
  badDefinition,
  checkCompilable,
  checkedDescription,
  checkedEntries,
  isNonEmptyTexts,
  isObject,
  preview,
} from "./define-capability.ts";
import { DEFAULT_IDLE_MS, PERSISTENCES, type PacketContext, type Persistence } from "./packet.ts";
import { CapabilityCalls } from "./recorded-calls.ts";
import { type ForeignServer, noServers } from "./upstream-interface.ts";

/** What a message handler of an actor receives: a turn (`RunContext`), the payload and the sender's context. */
export interface ActorRun<S, P> extends Omit<RunContext<S, P>, "args" | "request"> {
  readonly payload: P;
  readonly context: PacketContext;
  /** Before this message. */
  readonly metadata: ActorTimes;
}

/** What a `work` handler receives in addition. */
export interface ActorWork<S, P> extends ActorRun<S, P>, Pick<WorkContext<S, P>, "signal" | "progress" | "log" | "call"> {
  /** A tool server by its name in the configuration. Calls to it are recorded in the actor's chain. */
  readonly mcp: (server: string) => ForeignServer;
  /** Calls another capability as the actor's owner. The call is recorded in the actor's chain. Throws `PacketError`. */
  readonly request: (capabilityId: string, payload: JsonObject, options?: { readonly actor_id?: string }) => Promise<Json>;
}

/** What a `view` receives: the last durable state, read-only, and the payload. */
export interface ActorView<S, P> {
  readonly state: Frozen<S>;
  readonly payload: P;
  readonly context: PacketContext;
  readonly metadata: ActorTimes;
}

type Handles<S, P> =
  | { run(context: ActorRun<S, P>): Value; work?: never; view?: never }
  | { work(context: ActorWork<S, P>): Promise<Value>; run?: never; view?: never }
  | { view(context: ActorView<S, P>): Value; run?: never; work?: never };

export interface ActorCapabilityDefinition<S extends object, M> extends Described {
  /** JSON that is copied for each new actor, or a function that returns the first state. */
  readonly initialState: S | ((first: FirstTimes) => S);
  /** A schema of the state, checked when an actor starts. */
  readonly state?: StandardSchemaV1<unknown, S>;
  /** Default `memory`. */
  readonly persistence?: Persistence;
  /** Default: the configuration's, which is 30 minutes idle. */
  readonly timeout?: Timeout;
  /** Whether all users share the actors. Default: each actor belongs to the user who started it. */
  readonly shared?: boolean;
  /** Version of the state, from 1. Default 1. */
  readonly version?: number;
  /** Migrates a state of a lower version. Pure. */
  readonly migrate?: (old: { readonly state: Json; readonly from: number }) => S;
  /** The first pattern in source order that matches the payload selects the handler. A message without `match` takes any payload. */
  // `M[N] & object` would mean the same, and cost compilers much (`Schema` in core/actor/definition.ts).
  readonly messages: { readonly [N in keyof M]: { readonly match?: M[N] extends object ? M[N] : never } & Handles<S, PayloadOf<M[N]>> };
  /** Handlers that run at an interval while the actor lives. */
  readonly periodic?: Readonly<Record<string, { readonly everyMs: number; run(context: Omit<ActorRun<S, null>, "payload">): void }>>;
  /** Fields of payloads and results whose text is searchable (`message`, `notes.*.text`). */
  readonly search?: readonly string[];
  readonly policy?: Partial<Pick<Policy, "workMs" | "mailbox" | "maxStateBytes" | "restart">>;
}

/** A capability that is an actor for each `actor_id`. */
export interface ActorCapability<S = unknown> extends Capability {
  readonly does: Acts;
  /** The same as a kind of actor, for whatever takes one. */
  readonly kind: Kind<string, CapabilityState<S>, unknown>;
}

/** A definition without the author's type parameters. */
interface UntypedDefinition extends Described {
  readonly initialState: object;
  readonly state?: StandardSchemaV1;
  readonly persistence?: Persistence;
  readonly timeout?: Timeout;
  readonly shared?: boolean;
  readonly version?: number;
  readonly migrate?: (old: { readonly state: Json; readonly from: number }) => object;
  readonly messages: Readonly<Record<string, UntypedHandler>>;
  readonly periodic?: Readonly<Record<string, UntypedPeriodic>>;
  readonly search?: readonly string[];
  readonly policy?: Partial<Policy>;
}

/**
 * An actor for each `actor_id`: its own state, one message at a time (C1), a chain. A message is a turn: pure and synchronous
 * (law 4), unless its handler is `work`. Throws `BAD_NAME`, `BAD_DEFINITION`.
 */
export function actorCapability<S extends object, const M>(id: string, definition: ActorCapabilityDefinition<S, M>): ActorCapability<S>;
export function actorCapability(id: string, definition: UntypedDefinition): object {
  return buildActorCapability(id, definition);
}

/** `given`: what the configuration says, once it is known. */
function buildActorCapability(id: string, definition: UntypedDefinition, config?: Given): Capability {
  checkActorDefinition(id, definition);
  const { servers = noServers, clock = systemClock } = config ?? {};
  const asks = new CapabilityCalls(id, clock);
  const description = checkedDescription(id, definition);
  checkCompilable(id, description.parameters);
  const { persistence = config?.persistence ?? "memory", shared = false, timeout, periodic = {}, version = 1 } = definition;
  // The kind gets a default too, for actors that other actors start. Actors that packets start follow the configuration.
  const ends = timeout ?? idle(config?.idleMs ?? DEFAULT_IDLE_MS);
  const policy = policyFor(persistence, ends);
  const { messages } = definition;
  const { provides } = description;
  const handlers = new ActorHandlers({ id, timeout, expireMs: policy.expireMs, messages, periodic, servers, calls: asks, clock });
  const startDefinition: StartDefinition = { ...definition, id, version, hasTimers: handlers.hasTimers, shared };
  const handled = handlers.messages();
  const plainKind = actor(kindName(id), {
    description: description.intent,
    per: "link",
    version,
    owner: shared ? "anyone" : "starter",
    ...policy,
    ...definition.policy,
    initial: (first: InitialContext) => firstState(startDefinition, first),
    ...(definition.migrate !== undefined && { migrate: ({ state, from }) => migratedState(startDefinition, state, from) }),
    messages: handled,
  });
  const checkedKind = { ...plainKind, receive: enforcingProvides(plainKind, id, provides, (action) => Object.hasOwn(messages, action)) };
  const received = cancellingUnknownWakes<CapabilityStateDraft>(checkedKind, (action) => Object.hasOwn(handled, action));
  const receive: typeof received = (state, message, ...life) =>
    received(state, message.action === BEGIN_ACTION ? { ...message, action: BEGIN_MESSAGE } : message, ...life);
  const kind = Object.freeze({ ...plainKind, receive });
  const does: Acts = {
    how: "actor",
    behaviour: kind,
    persistence,
    shared,
    idle: timeout === undefined,
    search: Object.freeze([...(definition.search ?? [])]),
    route: (payload) => handlers.route(payload),
    known: storedStateOf,
    read: ({ action }, snapshot, payload, context) => {
      const { state, metadata } = storedStateOf(snapshot);
      return handlers.read(action, state, metadata, payload, context);
    },
    policyFor: ({ state_timeout, persistence: chosen = persistence }) => ({
      ...policyOverride(persistence, chosen, ends),
      ...(state_timeout === undefined ? {} : idlePolicy(chosen, state_timeout)),
    }),
    asks,
    ...(config === undefined && { configured: (now: Given) => buildActorCapability(id, definition, now) }),
  };
  return Object.freeze({ ...description, does, kind });
}

function storedStateOf({ id, state }: Snapshot): CapabilityState<Json> {
  const stored = parseCapabilityState(state);
  if (stored === undefined)
    throw new TroupeError("STATE_NOT_JSON", `What ${id} keeps is no state of a capability's actor: another kind wrote it.`);
  return stored;
}

/** The name of the capability's kind of actor. */
const kindName = (id: string): string => id.toLowerCase().replaceAll("_", "-");

const ACTOR_KEYS = [
  ...COMMON_KEYS,
  "initialState",
  "state",
  "persistence",
  "timeout",
  "shared",
  "version",
  "migrate",
  "messages",
  "periodic",
  "search",
  "policy",
] as const;

const HANDLER_KEYS = ["match", "run", "work", "view"] as const;

const PERIODIC_KEYS = ["everyMs", "run"] as const;

const POLICY_KEYS = ["workMs", "mailbox", "maxStateBytes", "restart"] as const;

/** Throws `BAD_DEFINITION`. */
function checkActorDefinition(id: string, definition: { readonly [W in (typeof ACTOR_KEYS)[number]]?: unknown }): void {
  allowOnlyKeys(id, definition, ACTOR_KEYS);
  const { initialState, state, persistence, timeout, shared, migrate, messages, periodic, search, policy } = definition;
  if (!isObject(initialState) && typeof initialState !== "function")
    throw badDefinition(`${id} has no \`initialState\`: give what each actor begins with, { count: 0 }, or a function that makes it.`);
  if (state !== undefined && !isStandard(state))
    throw badDefinition(
      `${id}: \`state\` is a Standard Schema (zod, ArkType, …) of the state; what actors begin with is \`initialState\`.`,
    );
  if (persistence !== undefined && !PERSISTENCES.some((known) => known === persistence))
    throw badDefinition(`${id}: persistence is one of ${PERSISTENCES.join(", ")}, not ${preview(persistence)}.`);
  if (timeout !== undefined && !isTimeout(timeout))
    throw badDefinition(`${id}: timeout is idle(ms), lifetime(ms), never or a function, not ${preview(timeout)}.`);
  if (shared !== undefined && typeof shared !== "boolean") throw badDefinition(`${id}: shared is true or false, not ${preview(shared)}.`);
  if (migrate !== undefined && typeof migrate !== "function") throw badDefinition(`${id}: migrate is a function ({ state, from }).`);
  if (policy !== undefined) allowOnlyKeys(`${id}: policy`, policy, POLICY_KEYS);
  if (search !== undefined && !isNonEmptyTexts(search))
    throw badDefinition(`${id}: search is a list of fields, ["payload:text"], not ${preview(search)}.`);
  for (const [name, handler] of checkedEntries(id, "messages", messages)) {
    const where = `${id}: messages.${name}`;
    allowOnlyKeys(where, handler, HANDLER_KEYS);
    checkFunctions(where, handler, ["run", "work", "view"]);
    const match: unknown = Reflect.get(Object(handler), "match");
    if (match !== undefined && Object(match) !== match)
      throw badDefinition(`${where}: match is a part of the payload or a schema, not ${preview(match)}.`);
  }
  if (periodic === undefined) return;
  for (const [name, every] of checkedEntries(id, "periodic", periodic)) {
    const where = `${id}: periodic.${name}`;
    allowOnlyKeys(where, every, PERIODIC_KEYS);
    checkFunctions(where, every, ["run"]);
    if (Reflect.get(Object(every), "run") === undefined) throw badDefinition(`${where} does nothing: give \`run\`.`);
  }
}

function isTimeout(timeout: unknown): boolean {
  if (typeof timeout === "function") return true;
  if (!isJsonObject(timeout)) return false;
  const { ends, ms } = timeout;
  return ends === "never" || ((ends === "idle" || ends === "lifetime") && typeof ms === "number" && Number.isFinite(ms) && ms > 0);
}

function checkFunctions(where: string, config: unknown, keys: readonly string[]): void {
  for (const key of keys) {
    const value: unknown = Reflect.get(Object(config), key);
    if (value !== undefined && typeof value !== "function") throw badDefinition(`${where}: ${key} is a function, not ${preview(value)}.`);
  }
}
