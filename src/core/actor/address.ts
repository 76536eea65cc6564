// Owns: addresses (`kind.at(key)`, `kind.each(keys)`): the builders of messages to actors and of calls of their tools, and their ids; the
// envelope of what a turn sends. Does not own: when it is sent (turn-context.ts), its stamp (core/chain).
import type { ActorId, Json, Message, Outgoing } from "../contract/index.ts";
import { BEGIN_ACTION, omitUndefined } from "../contract/internal.ts";
import { badTurn } from "./author-errors.ts";
import type { CreateOptions, SendOptions } from "./context.ts";
import { actorId, keyOf } from "./names.ts";
import { toJson } from "./to-json.ts";

// A symbol, so that a message may be called anything.
const TO = Symbol("to");

const EACH = Symbol("each");

interface Group {
  readonly [EACH]: readonly ActorId[];
}

/** The address of one actor: `kind.at(key)`. */
export interface Address<I extends ActorId = ActorId> {
  readonly [TO]: I;
}

/** How the addresses of a kind are made. */
export interface Addresses {
  readonly at: (key: string) => object;
  readonly each: (keys: Iterable<string>) => object;
}

/** For a kind with these messages and tools. All addresses share one object with a builder for each message, so that each is small. */
export function addressesOf(kind: string, messages: readonly string[], tools: readonly string[]): Addresses {
  const builders: object = Object.create(null);
  const broadcasts: object = Object.create(null);
  const calls: object = Object.create(null);
  for (const name of tools) define(calls, name, ({ [TO]: to }, args = {}, options) => messageTo(to, `tools/${name}`, args, options));
  // A message may be called `tools`: that is then what the name stands for.
  Object.defineProperty(builders, "tools", {
    configurable: true,
    get(this: Address) {
      return Object.create(calls, { [TO]: { value: this[TO] } });
    },
  });
  for (const name of messages) {
    define(builders, name, ({ [TO]: to }, args, options) => messageTo(to, name, args, options));
    define(broadcasts, name, ({ [EACH]: ids }, args, options) => messageToEach(ids, name, args, options));
  }
  return {
    at: (key) => Object.create(builders, { [TO]: { value: actorId(kind, key) } }),
    each: (keys) => Object.create(broadcasts, { [EACH]: { value: Array.from(keys, (key) => actorId(kind, key)) } }),
  };
}

/** Defines a builder of messages. It is bound to its address or group, since authors pass it on by itself. */
function define(
  target: object,
  name: string,
  build: (of: Address & Group, args: unknown, options: SendOptions | undefined) => unknown,
): void {
  Object.defineProperty(target, name, {
    configurable: true,
    enumerable: true,
    get(this: Address & Group) {
      return (args?: unknown, options?: SendOptions) => build(this, args, options);
    },
  });
}

function messageToEach(ids: readonly ActorId[], name: string, args: unknown, options: SendOptions | undefined): readonly Outgoing[] {
  const [first, ...others] = ids;
  if (first === undefined) return [];
  const message = messageTo(first, name, args, options);
  return [message, ...others.map((to) => ({ ...message, to }))];
}

function messageTo(to: ActorId, action: string, args: unknown, options: SendOptions | undefined): Outgoing {
  checkSendOptions(options);
  return { ...options, to, action, args: toJson(args, `the arguments of ${action}`) };
}

/** The id itself, or that of an address. Throws where it is neither. */
export function idOf<I extends ActorId>(given: I | Address<I>): I {
  if (isAddress(given)) return given[TO];
  if (typeof given !== "string") throw badTurn("create(): pass an address, as in `create(room.at(key))`, or an id.");
  // Throws BAD_ID here, where the author sees it, not in the outbox.
  keyOf(given);
  return given;
}

const isAddress = <I extends ActorId>(given: I | Address<I>): given is Address<I> =>
  typeof given === "object" && given !== null && TO in given;

/** Options that start an actor belong to `create`. */
function checkSendOptions(options: SendOptions | undefined): void {
  if (typeof options === "object" && ("start" in options || "policy" in options))
    throw badTurn("`start` and `policy` are no options of a message: create the actor first, with `create(kind.at(key), args)`.");
}

/** The message that starts an actor. */
export function creating(to: ActorId, args: unknown, { policy, viewer }: CreateOptions = {}): Outgoing & { readonly start: Json } {
  const start = args === undefined ? null : toJson(args, "the arguments of create()");
  return { to, action: BEGIN_ACTION, args: null, start, ...omitUndefined({ policy, viewer }) };
}

/** The envelope of a message as its author wrote it. It keeps the trace of its cause. */
export function outgoing(
  to: ActorId | Outgoing,
  given: string | SendOptions | undefined,
  args: unknown,
  options: SendOptions | undefined,
  cause: Message,
): Outgoing {
  if (typeof to === "object") {
    const extra = typeof given === "object" ? given : undefined;
    checkSendOptions(extra);
    return traced({ ...to, ...extra, args: toJson(to.args, "the arguments of a message") }, cause);
  }
  // Throws BAD_ID here, where the author sees it, not in the outbox.
  keyOf(to);
  if (typeof given !== "string") throw badTurn("send(to, action, args): `action` is the name of a message.");
  checkSendOptions(options);
  return traced({ ...options, to, action: given, args: toJson(args, "the arguments of a message") }, cause);
}

export function traced(message: Outgoing, cause: Message): Outgoing {
  return cause.trace === undefined || message.trace !== undefined ? message : { ...message, trace: cause.trace };
}
