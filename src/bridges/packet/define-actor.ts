import type { StandardSchemaV1 } from "@standard-schema/spec";
import { actor, type InitialContext, type Kind } from "../../core/actor/index.ts";
import { type Json, type Policy, type Snapshot, systemClock, TroupeError } from "../../core/contract/index.ts";
import { BEGIN_ACTION } from "../../core/contract/internal.ts";
import { type Beginning, firstState, idlePolicy, migratedState, policyFor, policyOver } from "./actor-birth.ts";
import type { ActorCapabilityDefinition } from "./actor-definition.ts";
import { BEGIN, Handlers, type AnyHandler, type AnyPeriodic } from "./actor-handlers.ts";
import { withoutStrays } from "./actor-timers.ts";
import { Asks } from "./asks.ts";
import type { Acts, Capability, Given } from "./capability.ts";
import { checkCompilable, described, type Described } from "./define-capability.ts";
import { checkActorWords } from "./known-words.ts";
import { capabilityStateIn, type CapabilityState, type CapabilityStateDraft } from "./capability-state.ts";
import type { Persistence } from "./packet.ts";
import { withPromises } from "./promises.ts";
import { noServers } from "./servers.ts";
import { idle, type Timeout } from "./timeout.ts";

/** A capability that is an actor for each `actor_id`. */
export interface ActorCapability<S = unknown> extends Capability {
  readonly does: Acts;
  /** The same as a kind of actor, for whatever takes one. */
  readonly kind: Kind<string, CapabilityState<S>, unknown>;
}

/** A definition with its inference taken off. */
interface AnyDefinition extends Described {
  readonly initialState: object;
  readonly state?: StandardSchemaV1;
  readonly persistence?: Persistence;
  readonly timeout?: Timeout;
  readonly shared?: boolean;
  readonly version?: number;
  readonly migrate?: (old: { readonly state: Json; readonly from: number }) => object;
  readonly messages: Readonly<Record<string, AnyHandler>>;
  readonly periodic?: Readonly<Record<string, AnyPeriodic>>;
  readonly search?: readonly string[];
  readonly policy?: Partial<Policy>;
}

/**
 * An actor for each `actor_id`: its own state, one message at a time (C1), a chain. A message is a turn: pure and synchronous
 * (law 4), unless its handler is `work`. Throws `BAD_NAME`, `BAD_DEFINITION`.
 */
export function actorCapability<S extends object, const M>(id: string, definition: ActorCapabilityDefinition<S, M>): ActorCapability<S>;
export function actorCapability(id: string, definition: AnyDefinition): object {
  return built(id, definition);
}

/** `given`: as a configuration has it. */
function built(id: string, definition: AnyDefinition, given?: Given): Capability {
  checkActorWords(id, definition);
  const { servers = noServers, clock = systemClock } = given ?? {};
  const asks = new Asks(id, clock);
  const about = described(id, definition);
  checkCompilable(id, about.parameters);
  const { persistence = given?.persistence ?? "memory", shared = false, timeout, periodic = {}, version = 1 } = definition;
  // Of its kind too, for actors that other actors begin: those that packets begin get what the configuration says.
  const ends = timeout ?? idle(given?.idleMs ?? IDLE_MS);
  const policy = policyFor(persistence, ends);
  const { messages } = definition;
  const { provides } = about;
  const handlers = new Handlers({ id, timeout, expireMs: policy.expireMs, messages, periodic, servers, asks, clock });
  const beginning: Beginning = { ...definition, id, version, timed: handlers.timed, shared };
  const handled = handlers.messages();
  const plainKind = actor(kindOf(id), {
    description: about.intent,
    per: "link",
    version,
    owner: shared ? "anyone" : "starter",
    ...policy,
    ...definition.policy,
    initial: (first: InitialContext) => firstState(beginning, first),
    ...(definition.migrate !== undefined && { migrate: ({ state, from }) => migratedState(beginning, state, from) }),
    messages: handled,
  });
  const promising = { ...plainKind, receive: withPromises(plainKind, id, provides, (action) => Object.hasOwn(messages, action)) };
  const received = withoutStrays<CapabilityStateDraft>(promising, (action) => Object.hasOwn(handled, action));
  const receive: typeof received = (state, message, ...life) =>
    received(state, message.action === BEGIN_ACTION ? { ...message, action: BEGIN } : message, ...life);
  const kind = Object.freeze({ ...plainKind, receive });
  const does: Acts = {
    how: "actor",
    behaviour: kind,
    persistence,
    shared,
    idle: timeout === undefined,
    search: Object.freeze([...(definition.search ?? [])]),
    route: (payload) => handlers.route(payload),
    known,
    read: ({ action }, snapshot, payload, context) => {
      const { state, metadata } = known(snapshot);
      return handlers.read(action, state, metadata, payload, context);
    },
    policyFor: ({ state_timeout, persistence: chosen = persistence }) => ({
      ...policyOver(persistence, chosen, ends),
      ...(state_timeout === undefined ? {} : idlePolicy(chosen, state_timeout)),
    }),
    asks,
    ...(given === undefined && { configured: (now: Given) => built(id, definition, now) }),
  };
  return Object.freeze({ ...about, does, kind });
}

function known({ id, state }: Snapshot): CapabilityState<Json> {
  const kept = capabilityStateIn(state);
  if (kept === undefined)
    throw new TroupeError("STATE_NOT_JSON", `What ${id} keeps is no state of a capability's actor: another kind wrote it.`);
  return kept;
}

/** Where nobody says otherwise. */
const IDLE_MS = 30 * 60_000;

/** The name of the kind of actor a capability is. */
const kindOf = (id: string): string => id.toLowerCase().replaceAll("_", "-");
