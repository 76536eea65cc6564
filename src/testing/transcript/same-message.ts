import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type Json } from "../../core/contract/index.ts";
import { parsed } from "../client/message.ts";
import type { SameNames } from "./same-names.ts";

/** Whether two messages say the same. What the server alone can read, and what it calls its questions, are names. */
export function sameMessage(was: Json | undefined, is: Json | undefined, names: SameNames): boolean {
  if (!isJsonObject(was) || !isJsonObject(is)) return isDeepStrictEqual(was, is);
  if (isQuestion(was) && isQuestion(is) && names.match("question", JSON.stringify(was["id"]), JSON.stringify(is["id"])))
    return isDeepStrictEqual({ ...was, id: null }, { ...is, id: null });
  const [before, now] = [was["result"], is["result"]];
  if (isJsonObject(before) && isJsonObject(now)) {
    const [state, other] = [before["requestState"], now["requestState"]];
    if (typeof state === "string" && typeof other === "string" && names.match("state", state, other))
      return isDeepStrictEqual({ ...was, result: { ...before, requestState: null } }, { ...is, result: { ...now, requestState: null } });
  }
  return isDeepStrictEqual(was, is);
}

/** A recorded message as the server of this run has to be told it. Text as it is where nothing is called otherwise. */
export function renamed(text: string, names: SameNames): string {
  const message = parsed(text);
  if (!isJsonObject(message)) return text;
  const { id = null, method, params } = message;
  if (method === undefined) {
    const called = names.of("question", JSON.stringify(id));
    return called === JSON.stringify(id) ? text : JSON.stringify({ ...message, id: parsed(called) });
  }
  const state = isJsonObject(params) ? params["requestState"] : undefined;
  if (!isJsonObject(params) || typeof state !== "string" || names.of("state", state) === state) return text;
  return JSON.stringify({ ...message, params: { ...params, requestState: names.of("state", state) } });
}

const isQuestion = (message: Json): boolean => isJsonObject(message) && "id" in message && typeof message["method"] === "string";
