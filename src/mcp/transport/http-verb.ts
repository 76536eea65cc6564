import type { Answer } from "../../core/contract/index.ts";
import { refusal } from "../gateway/index.ts";
import { preflight } from "./http-cors.ts";
import type { HttpGuard } from "./http-guard.ts";
import type { HeaderList } from "./http-headers.ts";

/** What whoever asks for the verbs of a path is told, or sends another; undefined: it is one of them. */
export function answerVerb(method: string, verbs: readonly string[], guard: HttpGuard, headers: HeaderList): Answer | undefined {
  if (method !== "OPTIONS" && verbs.includes(method)) return undefined;
  const allow = { allow: [...verbs, "OPTIONS"].join(", ") };
  if (method !== "OPTIONS") return refusal("VERB", `This path takes ${verbs.join(", ")}.`, allow);
  const asks = guard.cors(headers.get("origin")) && headers.get("access-control-request-method") !== undefined;
  return asks ? preflight(headers, verbs) : { status: 204, headers: allow };
}
