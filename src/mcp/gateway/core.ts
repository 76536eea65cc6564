// Owns: what every request of both eras shares: limit, find the method, serve; and the count of what runs. Does not own: the steps of a
// method (methods/) and the shape of its reply (legacy/perform.ts, modern/perform.ts).
import { type Bag, type Caller, type Clock, defaultRate, type Rate, TokenBuckets, type Viewer } from "../../core/contract/index.ts";
import { InFlightMemoryBudget, peerOf } from "../../core/contract/internal.ts";
import type { Call, Method, Outcome } from "./call.ts";
import { Fault } from "./errors.ts";
import { Delivered } from "./legacy/delivered.ts";
import { actingMethods } from "./methods/acting.ts";
import { complete } from "./methods/completion.ts";
import { listMethods } from "./methods/listing.ts";
import { Tasks } from "./modern/tasks.ts";
import { SERVER_META } from "./modern/envelope.ts";
import type { Settings } from "./settings.ts";
import { Pages } from "./pages.ts";
import { LATEST_MODERN } from "./revision.ts";
import { shapeInfo } from "./server-info.ts";
import { SilentCalls } from "./silent-calls.ts";
import { tellUnionInputs } from "./union-inputs.ts";
import { Unfinished } from "./unfinished.ts";
import { Work } from "./work.ts";

/** What stays open until its client or a drain ends it. */
export interface Lasting {
  /** By the server's own decision. */
  finish(): void;
}

/** What both eras share: the way every request goes, and the count of what runs. */
export interface Core {
  readonly settings: Settings;
  /** The `_meta` of every result of 2026-07-28. */
  readonly serverMeta: Bag;
  readonly work: Work;
  /** What is answered at the latest where a drain's grace is over. */
  readonly unfinished: Unfinished;
  /** Listen requests, standalone streams. */
  readonly open: Set<Lasting>;
  /** Absent: every caller waits for its call. */
  readonly tasks: Tasks | undefined;
  readonly delivered: Delivered;
  /** Over HTTP. */
  readonly silent: SilentCalls;
  /** Messages that are being worked on. */
  readonly held: InFlightMemoryBudget;
  /** Connections, each by what lets go of it: nothing that waits for its client waits any longer. */
  readonly connections: Set<() => void>;
  /**
   * The way of every call, whichever era and door it came by: rate limit, then the method's own steps (resolve, scope,
   * validate, act, encode). Throws, or rejects with, a `Fault`.
   */
  readonly serve: (call: Call, caller: Caller) => Outcome | Promise<Outcome>;
  readonly knows: (method: string) => boolean;
  /** Takes a token outside of `serve`: for what is no call of a method. */
  readonly limit: (caller: Caller, viewer?: Viewer) => void;
  /** Throws `DRAINING` once no new work is taken. */
  readonly admit: () => void;
}

const noRoom = (): Fault =>
  new Fault("BUSY", "Too much that was sent here is still being worked on; try again in a moment, or send less at once.", {
    headers: { "retry-after": "1" },
  });

export const draining = (): Fault =>
  new Fault("DRAINING", "The server is shutting down; connect again in a moment.", { headers: { "retry-after": "1" } });

export function createCore(settings: Settings): Core {
  const work = new Work();
  const unfinished = new Unfinished();
  const tasks = settings.tasks ? new Tasks({ settings, work, unfinished }) : undefined;
  const methods = new Map<string, Method>([
    ...Object.entries(actingMethods(settings, tasks)),
    ...Object.entries(tasks?.methods ?? {}),
    ...Object.entries(listMethods(new Pages(settings.pageSize, tellUnionInputs(settings.log)), settings.log)),
    ["completion/complete", complete],
  ]);
  for (const method of settings.profile.withholds) methods.delete(method);
  const takeToken = rateLimiter(settings.rateLimit, settings.clock);
  const limit = (caller: Caller, viewer?: Viewer): void => takeToken(viewer?.principal ?? caller.principal ?? peerOf(caller.peer), caller);

  const serve = (call: Call, caller: Caller): Outcome | Promise<Outcome> => {
    limit(caller, call.viewer);
    const method = methods.get(call.method);
    if (method === undefined) throw new Fault("METHOD", `Method not found: ${call.method}`);
    return method(call);
  };
  return {
    settings,
    serverMeta: settings.serverInfoInResults ? { [SERVER_META]: shapeInfo(settings.info, LATEST_MODERN) } : {},
    work,
    unfinished,
    tasks,
    open: new Set(),
    delivered: new Delivered(settings),
    silent: new SilentCalls(settings.clock),
    held: new InFlightMemoryBudget(settings.limits.heldBytes, noRoom),
    connections: new Set(),
    serve,
    knows: (method) => methods.has(method),
    limit,
    admit() {
      if (work.closed) throw draining();
    },
  };
}

/** Who is behind a request. Era, connection and posture end here: an actor sees the viewer only. */
export function viewerOf(caller: Caller, standIn: string | undefined): Viewer {
  const principal = caller.principal ?? standIn;
  return principal === undefined ? { scopes: caller.scopes } : { principal, scopes: caller.scopes };
}

/** Takes a token for that key or throws `RATE`. */
type TakeToken = (key: string, caller: Caller) => void;

/** Token buckets by key. Without a rate of its own, local peers have a looser one than others; `false`: none. */
function rateLimiter(rate: Rate | false | undefined, clock: Clock): TakeToken {
  if (rate === false) return () => undefined;
  const buckets = new TokenBuckets(clock);
  return (key, caller) => {
    const waitS = buckets.take(key, rate ?? defaultRate(caller.peer));
    if (waitS > 0)
      throw new Fault("RATE", `Too many requests; try again in ${waitS} s.`, {
        data: { retryAfterMs: waitS * 1_000 },
        headers: { "retry-after": String(waitS) },
      });
  };
}
