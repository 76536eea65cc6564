import type { Message, Reply, Viewer } from "../contract/index.ts";
import { elicit } from "./elicit.ts";
import type { Act } from "./act.ts";
import { refused } from "./refuse.ts";

const KEY = "confirm";
const FORM = { type: "object", properties: { confirm: { type: "boolean", title: "Confirm" } }, required: ["confirm"] };

/** What stands between a call and a destructive act: a question, or a refusal without a trace (C3). Undefined: go on. */
export function unconfirmed(act: Act, state: unknown, args: unknown, viewer: Viewer, message: Message): Reply | undefined {
  // A client that cannot be asked has its own way to ask before a destructive tool.
  if (act.confirm === undefined || message.can?.includes("elicitation") !== true) return undefined;
  const text = typeof act.confirm === "string" ? act.confirm : act.confirm(state, args, viewer);
  if (text === undefined) return undefined;
  const question = elicit(text, FORM);
  const answer = message.answers?.[KEY];
  if (answer === undefined) return { needs: { [KEY]: question.request } };
  const given = question.read(answer);
  if (given.action === "accept" && given.content["confirm"] === true) return undefined;
  return refused("NOT_CONFIRMED", "Not confirmed.");
}
