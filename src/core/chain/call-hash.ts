import { canonical } from "../contract/internal.ts";
import type { ActorId, Json, Message, Viewer } from "../contract/index.ts";
import { sha256 } from "./event.ts";
import type { CallKey } from "./turn.ts";
import { check } from "./json-check.ts";

const DIGITS = 16;

/** Tells calls apart by what they ask for: equal for the same action and equal arguments, in whatever order their keys are. Throws where the arguments are no JSON. */
export function callHash(action: string, args: Json): string {
  check(args, "args");
  return sha256(`${action}\n${canonical(args)}`).slice(0, DIGITS);
}

/** C4: keys are scoped to their caller. A viewer without a principal is known by the actor that stands for it. */
export const scopedKey = (viewer: Viewer | undefined, from: ActorId | undefined, key: string): string =>
  `${viewer?.principal ?? viewer?.self ?? from ?? ""}\n${key}`;

/**
 * C4: the nth call of work, the same whenever that work runs again. A repeated keyed call is another message each time, so its
 * own key is what stays. Work that decides otherwise then asks for something else, and is not answered as if it had not.
 */
export function innerKey(work: Message, outerKey: CallKey | undefined, n: number, action: string, shown: Json): string {
  const outer = outerKey === undefined ? work.id : sha256(`${work.to}\n${outerKey.key}`).slice(0, 32);
  return `work ${outer}.${n} ${callHash(action, shown)}`;
}
