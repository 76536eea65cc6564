// Owns: what an engine puts on messages: ids, stamps, the keys of calls. Does not own: their delivery.
import {
  type ActorId,
  type ActorViewer,
  type Behaviour,
  type CallOptions,
  type Entropy,
  type Json,
  type Message,
  type Outgoing,
  type RolesByKind,
  TroupeError,
  type Viewer,
} from "../contract/index.ts";
import { canonical, isReplyAction, keyIn, shapeOf } from "../contract/internal.ts";
import { sha256 } from "./event.ts";
import { badId } from "./engine-errors.ts";
import { check } from "./json-check.ts";
import type { CallKey } from "./turn.ts";

// Starting an actor reads its id twice, so the last one is remembered. The first value is any valid id.
let lastId = "a/a";
let lastKey = "a";

/** The key in an id, decoded. Throws `BAD_ID`. */
export function keyOf(id: string): string {
  if (id === lastId) return lastKey;
  const key = keyIn(id);
  if (key === undefined) throw badId(id);
  lastId = id;
  lastKey = key;
  return key;
}

const ENGINE_PREFIX = "engine.";

/** The id of a message that an engine sends on its own behalf, from hex digits. No other message id has this prefix. */
export const ownId = (digits: string): string => ENGINE_PREFIX + digits;

export const isOwnId = (id: string): boolean => id.startsWith(ENGINE_PREFIX);

/** The id of the message that a timer sends. The engine stamps it when the timer fires; re-execution finds the timer's name in it. */
export const wakeId = (life: string, name: string, at: number): string => `${life}.wake.${name}.${at}`;

/** The name of the timer that sent the message with this id; undefined if it was no timer of this life. */
export function wakeNameIn(id: string, life: string): string | undefined {
  const start = `${life}.wake.`;
  return id.startsWith(start) ? id.slice(start.length, id.lastIndexOf(".")) : undefined;
}

/** A message with id, time and seed; `kinds` decide the roles of its viewer. Built key by key, so that unknown keys of a caller's object are not passed on. */
export function stamp(outgoing: Outgoing, options: CallOptions | undefined, at: number, entropy: Entropy, kinds?: RoleSource): Message {
  const { to, action, args, start } = outgoing;
  const id = entropy.hex(16);
  const seed = entropy.hex(16);
  // One literal: keys that are added later are stored outside the object.
  const message: { -readonly [K in keyof Message]: Message[K] } =
    start === undefined ? { id, to, action, args, at, seed } : { id, to, action, args, at, seed, start };
  if (outgoing.viewer !== undefined) message.viewer = callerOf(outgoing.viewer, kinds);
  if (start !== undefined && outgoing.policy !== undefined) message.policy = outgoing.policy;
  if (outgoing.deadline !== undefined && outgoing.deadline !== Infinity) message.deadline = outgoing.deadline;
  const trace = outgoing.trace ?? options?.trace;
  if (trace !== undefined) message.trace = trace;
  const answers = options?.answers ?? outgoing.answers;
  if (answers !== undefined) message.answers = answers;
  const can = options?.can ?? outgoing.can;
  if (can !== undefined) message.can = can;
  return message;
}

/** Decides roles where a message is stamped. */
export interface RoleSource {
  /** Of every kind that has roles. */
  rolesOf(viewer: Viewer): RolesByKind;
}

/** `rolesOf` for these kinds. */
export function rolesByKind(kinds: readonly Behaviour[], viewer: Viewer): RolesByKind {
  return Object.fromEntries(
    kinds.flatMap((behaviour) => (behaviour.roles === undefined ? [] : [[behaviour.kind, behaviour.roles(viewer)]])),
  );
}

/** The viewer as messages have it. Claims must not get into a message: it is stored, logged, and passed to other nodes. */
export function storedViewer(viewer: Viewer & ActorViewer, decided: RolesByKind | undefined): ActorViewer {
  if (viewer.claims === undefined && viewer.roles === undefined && viewer.rolesByKind === undefined) return viewer;
  const { claims: _, roles: __, rolesByKind: ___, ...rest } = viewer;
  return decided === undefined ? rest : { ...rest, rolesByKind: decided };
}

/** Roles are for `kinds` to decide: those that come from outside are dropped. */
const callerOf = (viewer: Viewer, kinds: RoleSource | undefined): ActorViewer =>
  storedViewer(viewer, viewer.claims === undefined ? undefined : kinds?.rolesOf(viewer));

/** The nth call of work. The id follows from the work's message, so that work that runs again makes the same calls. */
export function stampFrom(work: Message, n: number, outgoing: Outgoing, endsAt: number, at: number, entropy: Entropy): Message {
  const from: ActorId = work.to;
  const { viewer } = outgoing;
  checkAction(outgoing.action);
  const deadline = Math.min(outgoing.deadline ?? endsAt, endsAt);
  return {
    ...stamp(outgoing, work.trace === undefined ? undefined : { trace: work.trace }, at, entropy),
    ...(viewer === undefined ? {} : { viewer: storedViewer(viewer, viewer.rolesByKind) }),
    id: `${work.id}.${n}`,
    from,
    // In JSON, in which a message may travel, Infinity becomes null: a time that is over.
    ...(deadline === Infinity ? {} : { deadline }),
  };
}

/** Throws `BAD_TURN` for what is no action, and for one that only engines send: it would answer another actor's caller. */
export function checkAction(action: string): void {
  if (!isAction(action)) throw new TroupeError("BAD_TURN", `${shapeOf(action)} is no action: send the name of one, as text.`);
  if (isReplyAction(action))
    throw new TroupeError(
      "BAD_TURN",
      `${JSON.stringify(action)} is sent by the engine alone: reply to a message by returning from its turn.`,
    );
}

/** Programs in plain JavaScript can pass anything: a message without an action could not even be reported as unhandled. */
export const isAction = (action: unknown): action is string => typeof action === "string";

const DIGITS = 16;

/** Equal for the same action and equal arguments, whatever the order of keys. Throws if the arguments are not JSON. */
export function callHash(action: string, args: Json): string {
  check(args, "args");
  return sha256(`${action}\n${canonical(args)}`).slice(0, DIGITS);
}

/** C4: keys are scoped to their caller. A viewer without a principal is identified by its own actor. */
export const scopedKey = (viewer: Viewer | undefined, from: ActorId | undefined, key: string): string =>
  `${viewer?.principal ?? viewer?.self ?? from ?? ""}\n${key}`;

/**
 * C4: the key of the nth call of work, the same whenever that work runs again. A repeated keyed call is another message each time, but its
 * key stays the same. If the work then makes another call instead, its key differs, so it does not get the first one's reply.
 */
export function innerKey(work: Message, outerKey: CallKey | undefined, n: number, action: string, redactedArgs: Json): string {
  const outer = outerKey === undefined ? work.id : sha256(`${work.to}\n${outerKey.key}`).slice(0, 32);
  return `work ${outer}.${n} ${callHash(action, redactedArgs)}`;
}

/** The caller of a message that an operator causes. `undefined`: unknown. */
export const byOperator = (principal: string | undefined): Pick<Message, "viewer"> =>
  principal === undefined ? {} : { viewer: { principal, scopes: [] } };
