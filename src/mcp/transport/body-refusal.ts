import type { Answer } from "../../core/contract/index.ts";
import { refusal } from "../gateway/index.ts";
import { NO_ROOM, type NoRoom } from "./inflow.ts";

/** Why the rest of a body is not read. */
export type BodyRefusal = "too-large" | "too-many-pieces" | NoRoom;

/** `most`: the longest body there may be. */
export function refuseBody(why: BodyRefusal, most: number): Answer {
  if (why === "too-large") return refusal("TOO_LARGE", `A body may have at most ${most} bytes: send less at once.`);
  if (why === "too-many-pieces") return refusal("TOO_LARGE", "The body comes in too many pieces of a few bytes: send it in larger ones.");
  const [kind, message] = NO_ROOM[why];
  return refusal(kind, message, why === "full" ? { "retry-after": "5" } : undefined);
}
