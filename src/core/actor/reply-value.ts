// Owns: from what a handler returned to its reply: content, the check of its `output`. Does not own: when it is sent (receive.ts).
import { BARE_RESULT, isBareResult, type Reply } from "../contract/index.ts";
import { isContent } from "../contract/internal.ts";
import { describeIssues } from "../schema/index.ts";
import type { Action } from "./actions.ts";
import { badTurn } from "./author-errors.ts";
import { checkContent, ForwardedMark, Later } from "./replies.ts";
import { toJson } from "./to-json.ts";

/** The reply that a handler's value stands for. Undefined: none was returned. Throws `BAD_TURN`. */
export function replyOf(action: Action, value: unknown): Reply | "later" | undefined {
  // These are all objects, and most replies are not.
  const isObject = typeof value === "object";
  if (isObject && (Later.is(value) || ForwardedMark.is(value))) return "later";
  if (isObject && isBareResult(value) && action.name.startsWith("tools/")) throw badTurn(`${action.replied} ${BARE_RESULT}.`);
  if (action.output !== undefined)
    return { ok: checkContent(toJson(fitting(action, action.output, value), action.replied), action.replied) };
  if (value === undefined) return undefined;
  if (isObject && isPromise(value)) throw promised(action, value);
  return { ok: checkContent(toJson(value, action.replied), action.replied) };
}

/** The reply that the value of `settled()` stands for. Throws `BAD_TURN` if it is none yet. */
export function settledReply(action: Action, value: unknown): Reply {
  const reply = replyOf(action, value) ?? { ok: null };
  if (reply === "later")
    throw badTurn(`${action.name}: settled(value) takes the reply itself, not what later(), forward() or request() returns.`);
  return reply;
}

function fitting(action: Action, output: NonNullable<Action["output"]>, value: unknown): unknown {
  if (isPromise(value)) throw promised(action, value);
  const data: unknown = isContent(value) ? value["structured"] : value;
  const checked = output(data);
  if (checked.issues !== undefined) throw badTurn(`What ${action.name} replied is not its \`output\`: ${describeIssues(checked.issues)}.`);
  return isContent(value) ? { ...value, structured: checked.value } : checked.value;
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function promised(action: Action, value: PromiseLike<unknown>): Error {
  // Its own failure must not be reported as unhandled.
  value.then(undefined, () => undefined);
  return badTurn(`${action.name} returned a promise: a turn is synchronous, and what it awaited is lost. Use \`work\` for what waits.`);
}
