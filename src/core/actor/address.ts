// Owns: addresses (`kind.at(key)`): the builders of messages to an actor, and its id. Does not own: sending (turn-context.ts).
import type { ActorId, Outgoing } from "../contract/index.ts";
import { badTurn } from "./author-errors.ts";
import type { SendOptions } from "./context.ts";
import { actorId, keyOf } from "./names.ts";
import { toJson } from "./to-json.ts";

// A symbol, so that a message may be called anything.
const TO = Symbol("to");

/** The address of one actor: `kind.at(key)`. */
export interface Address<I extends ActorId = ActorId> {
  readonly [TO]: I;
}

/** Makes addresses of a kind with these messages. All share one object with a method for each message, so that each is small. */
export function addressesOf(kind: string, messages: readonly string[]): (key: string) => object {
  const builders: Record<string, unknown> = Object.create(null);
  for (const name of messages) {
    builders[name] = function message(this: Address, args?: unknown, options?: SendOptions): Outgoing {
      checkSendOptions(options);
      return { ...options, to: this[TO], action: name, args: toJson(args, `the arguments of ${name}`) };
    };
  }
  return (key) => Object.create(builders, { [TO]: { value: actorId(kind, key) } });
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
export function checkSendOptions(options: SendOptions | undefined): void {
  if (typeof options === "object" && ("start" in options || "policy" in options))
    throw badTurn("`start` and `policy` are no options of a message: create the actor first, with `create(kind.at(key), args)`.");
}
