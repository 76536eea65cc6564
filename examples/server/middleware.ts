import { refuse } from "troupe";
import type { Middleware } from "troupe/server";

const MAX_CACHED = 1_000;

/** Logs each call with its duration, caller and outcome. Writes to the server's own log, since `context.log` also reaches clients. */
export function logCalls(write: (line: object) => void, now: () => number = Date.now): Middleware {
  return async ({ offer, context: { requestId, viewer } }, next) => {
    const start = now();
    let failed = true;
    try {
      const result = await next();
      failed = false;
      return result;
    } finally {
      write({ offer, requestId, principal: viewer.principal, failed, ms: now() - start });
    }
  };
}

/** Counts calls and failures of each tool, resource and prompt. */
export function countCalls(counts: Map<string, number>): Middleware {
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
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

/** Caches the results of these offers for each viewer. The key includes the scopes, since another token of the principal may see less. */
export function cacheResults(offers: readonly string[], ttlMs: number, now: () => number = Date.now): Middleware {
  const cache = new Map<string, { readonly expiresAt: number; readonly result: unknown }>();
  return async ({ offer, context }, next) => {
    if (!offers.includes(offer)) return next();
    const { principal, scopes, claims } = context.viewer;
    const key = JSON.stringify([principal ?? null, scopes.toSorted(), claims ?? null, offer, context.args]);
    const cached = cache.get(key);
    if (cached !== undefined && cached.expiresAt > now()) return cached.result;
    const result = await next();
    cache.delete(key);
    cache.set(key, { expiresAt: now() + ttlMs, result });
    for (const oldest of cache.keys()) {
      if (cache.size <= MAX_CACHED) break;
      cache.delete(oldest);
    }
    return result;
  };
}

/** Allows each principal `limit` calls per `windowMs`. All callers without a principal share one limit. */
export function limitCalls(limit: number, windowMs: number, now: () => number = Date.now): Middleware {
  let window = { endsAt: 0, calls: new Map<string, number>() };
  return ({ context }, next) => {
    if (now() >= window.endsAt) window = { endsAt: now() + windowMs, calls: new Map() };
    const caller = context.viewer.principal ?? "";
    const calls = (window.calls.get(caller) ?? 0) + 1;
    window.calls.set(caller, calls);
    if (calls > limit) refuse("That was too often: wait a moment.", { code: "TOO_OFTEN" });
    return next();
  };
}
