import type { Bag, Caller, Viewer } from "../contract/index.ts";
import type { Call, Method, Outcome } from "./call.ts";
import { chain, type Step } from "./chain.ts";
import { Fault } from "./errors.ts";
import { actingMethods } from "./methods/acting.ts";
import { complete } from "./methods/completion.ts";
import { listMethods } from "./methods/listing.ts";
import type { Settings } from "./options.ts";
import { Pages } from "./pages.ts";
import { rateLimiter } from "./rate-limit.ts";
import { Work } from "./work.ts";

/** One request before it is known who stands behind it. */
interface Asked {
  readonly caller: Caller;
  /** Who the caller is here: in a legacy session without a principal the session stands in for one. */
  readonly viewer: () => Viewer;
  /** What to perform, once the viewer is known. */
  readonly call: (viewer: Viewer) => Call;
  readonly answers?: Bag;
}

interface Authenticated {
  readonly asked: Asked;
  readonly viewer: Viewer;
}

/** What both eras share: the way every request goes, and the count of what runs. */
export interface Core {
  readonly settings: Settings;
  readonly work: Work;
  /** What stays open until the client or a drain ends it: listen requests, standalone streams. */
  readonly open: Set<() => void>;
  /** Connections, each by what lets go of it: nothing that waits for its client waits any longer. */
  readonly connections: Set<() => void>;
  /** Authenticate, rate limit, then the method's own steps (resolve, scope, validate, act, encode). */
  readonly serve: Step<Asked, Outcome>;
  readonly knows: (method: string) => boolean;
  /** Takes a token outside of `serve`: for what is no call of a method. */
  readonly limit: (caller: Caller, viewer?: Viewer) => void;
  /** Throws `DRAINING` once no new work is taken. */
  readonly admit: () => void;
}

export function createCore(settings: Settings): Core {
  const work = new Work();
  const methods = new Map<string, Method>([
    ...Object.entries(actingMethods(settings.receipts)),
    ...Object.entries(listMethods(new Pages(settings.pageSize))),
    ["completion/complete", complete],
  ]);
  const takeToken = rateLimiter(settings.rateLimit, settings.clock);
  const limit = (caller: Caller, viewer?: Viewer): void => takeToken(viewer?.principal ?? caller.principal ?? caller.peer ?? "", caller);

  const rate = (known: Authenticated): Authenticated => {
    limit(known.asked.caller, known.viewer);
    return known;
  };
  const perform = ({ asked, viewer }: Authenticated): Outcome | Promise<Outcome> => {
    const call = asked.call(viewer);
    const method = methods.get(call.method);
    if (method === undefined) throw new Fault("METHOD", `Method not found: ${call.method}`);
    return method(call, asked.answers);
  };
  return {
    settings,
    work,
    open: new Set(),
    connections: new Set(),
    serve: chain(authenticate, rate, perform),
    knows: (method) => methods.has(method),
    limit,
    admit() {
      if (work.closed)
        throw new Fault("DRAINING", "The server is shutting down; connect again in a moment.", { headers: { "retry-after": "1" } });
    },
  };
}

function authenticate(asked: Asked): Authenticated {
  return { asked, viewer: asked.viewer() };
}

/** Who is behind a request. Era, connection and posture end here: an actor sees the viewer only. */
export function viewerOf(caller: Caller, standIn: string | undefined): Viewer {
  const principal = caller.principal ?? standIn;
  return principal === undefined ? { scopes: caller.scopes } : { principal, scopes: caller.scopes };
}
