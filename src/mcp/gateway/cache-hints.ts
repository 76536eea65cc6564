import type { Bag } from "../../core/contract/index.ts";
import { isListMethod } from "./call.ts";
import type { Settings } from "./settings.ts";

/** How long whoever holds a result may keep it, and whether for one caller or for all. */
export interface CacheHint {
  /** Milliseconds; less than none is none. Default 0. */
  readonly ttlMs?: number;
  /** `public` only where the result is the same for every caller. Default `private`. */
  readonly cacheScope?: "public" | "private";
}

/** Methods whose results say how long they may be kept. */
export type Kept = "server/discover" | "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list" | "resources/read";

// The catalogue changes only with the code; what is told of it holds a while.
const CATALOGUE_TTL_MS = 60_000;
const DISCOVER_TTL_MS = 300_000;

const told = (ttlMs: number, scope: "public" | "private"): string => `,"ttlMs":${ttlMs},"cacheScope":"${scope}"`;

const NOT_KEPT = told(0, "private");
const CATALOGUE = told(CATALOGUE_TTL_MS, "private");
const DISCOVERED = told(DISCOVER_TTL_MS, "public");

function isKept(method: string): method is Kept {
  return isListMethod(method) || method === "resources/read" || method === "server/discover";
}

/** The members that say it, of a result of 2026-07-28; empty where its method has none. `lasting`: it does not follow the state. */
export function cacheHints({ cacheHints: given, profile }: Settings, method: string, params: Bag, lasting: boolean): string {
  if (!isKept(method)) return "";
  // The next round of a call is nobody else's.
  if (params["requestState"] !== undefined || params["inputResponses"] !== undefined) return NOT_KEPT;
  const hint = given[method];
  if (hint !== undefined) return told(Math.max(0, Math.trunc(hint.ttlMs ?? 0)) || 0, hint.cacheScope ?? "private");
  if (!lasting || profile.keepsNothing) return NOT_KEPT;
  return method === "server/discover" ? DISCOVERED : CATALOGUE;
}
