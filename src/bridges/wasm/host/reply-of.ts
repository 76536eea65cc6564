import { isJsonObject, type Json, type Reply } from "../../../core/contract/index.ts";

/** What was answered. Throws why nothing was. */
export function replyOf(reply: Reply): Json {
  if ("refused" in reply) throw new Error(`${reply.refused.code}: ${reply.refused.message}`);
  if ("needs" in reply) throw new Error("It asks something of a person, which a guest cannot answer: call it from a client.");
  return reply.ok;
}

/** The same of a guest: a call of its that failed is told as an answer, since it leaves an event. */
export function guestReplyOf(reply: Reply): Json {
  const answer = replyOf(reply);
  if (!isJsonObject(answer) || !isJsonObject(answer["failed"])) return answer;
  const { code, message } = answer["failed"];
  throw new Error(`${typeof code === "string" ? code : "ActorError"}: ${typeof message === "string" ? message : "it failed"}`);
}
