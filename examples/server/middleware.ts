import { refuse } from "troupe";
import type { Middleware } from "troupe/server";

/** Says how long each call took, for whom, and whether it failed: to a log of the server's, for `context.log` reaches clients too. */
export function logged(say: (line: object) => void, now: () => number = Date.now): Middleware {
  return async ({ offer, context: { requestId, viewer } }, next) => {
    const from = now();
    let failed = true;
    try {
      const result = await next();
      failed = false;
      return result;
    } finally {
      say({ offer, requestId, principal: viewer.principal, failed, ms: now() - from });
    }
  };
}

/** Counts calls and failures by offer. */
export function counted(counts: Map<string, number>): Middleware {
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
  return async ({ offer }, next) => {
    count(offer);
    try {
      return await next();
    } catch (error) {
      count(`${offer} failed`);
      throw error;
    }
  };
}

/** Keeps results of these offers a while, for each viewer apart: another token of a principal may see less. The oldest go first. */
export function cached(offers: readonly string[], ms: number, now: () => number = Date.now): Middleware {
  const kept = new Map<string, { readonly until: number; readonly result: unknown }>();
  return async ({ offer, context }, next) => {
    if (!offers.includes(offer)) return next();
    const { principal, scopes, claims } = context.viewer;
    const key = JSON.stringify([principal ?? null, scopes.toSorted(), claims ?? null, offer, context.args]);
    const found = kept.get(key);
    if (found !== undefined && found.until > now()) return found.result;
    const result = await next();
    kept.delete(key);
    kept.set(key, { until: now() + ms, result });
    for (const oldest of kept.keys()) {
      if (kept.size <= 1_000) break;
      kept.delete(oldest);
    }
    return result;
  };
}

/** So many calls of a principal within that time; others count as one. */
export function limited(most: number, ms: number, now: () => number = Date.now): Middleware {
  let window = { until: 0, calls: new Map<string, number>() };
  return ({ context }, next) => {
    if (now() >= window.until) window = { until: now() + ms, calls: new Map() };
    const who = context.viewer.principal ?? "";
    const calls = (window.calls.get(who) ?? 0) + 1;
    window.calls.set(who, calls);
    if (calls > most) refuse("That was too often: wait a moment.", { code: "TOO_OFTEN" });
    return next();
  };
}
