// Owns: making a gateway, what its requests share, and its end. Does not own: a listener; transports feed it.
import {
  type Closable,
  type Answer,
  type Caller,
  type Channel,
  type Clock,
  type Connection,
  defaultRate,
  type Exchange,
  type Gateway,
  type GatewayReport,
  type Rate,
  type Source,
  TokenBuckets,
  type Viewer,
} from "../../core/contract/index.ts";
import { InFlightMemoryBudget, Lru, peerOf, safeCall } from "../../core/contract/internal.ts";
import { meta } from "../source/index.ts";
import { PendingReplies, SilentCalls, WorkCounter } from "./active-requests.ts";
import { shapeInfo } from "./capabilities.ts";
import { StreamConnection } from "./connection.ts";
import { type Core, draining } from "./core.ts";
import { methodsOf } from "./dispatch.ts";
import { SERVER_META } from "./envelope.ts";
import { Fault, inLog } from "./errors.ts";
import { HttpRouter } from "./http-router.ts";
import { SentEvents } from "./legacy/resumable-stream.ts";
import { SessionHttp } from "./legacy/session-http.ts";
import { type GatewayOptions, settle, type Settings } from "./options.ts";
import { LATEST_MODERN } from "./revision.ts";
import { Tasks } from "./tasks.ts";

const LAST_REPLIES_MS = 1_000;

/**
 * The MCP protocol engine for one source: legacy and modern revisions, on streams and over HTTP. It has no listener of its own;
 * transports feed it.
 */
export function createGateway(options: GatewayOptions): Gateway & Closable {
  const settings = settle(options);
  const core = createCore(settings);
  let wrapped: Source | undefined;
  const sourceFor = (posture: string | undefined): Source => (posture === "meta" ? (wrapped ??= meta(settings.source)) : settings.source);
  const legacy = new SessionHttp(core, sourceFor);
  const hide = settings.observer?.shows?.(() => ({
    sessions: legacy.sessions.size,
    connections: core.connections.size,
    streams: core.openStreams.size,
    requests: core.work.running,
  }));
  const http = new HttpRouter(core, legacy, sourceFor);

  // One failure must not keep the others from being ended.
  const safely = (end: () => void): void => safeCall(end, (error) => settings.log("error", { event: "end-failed", ...inLog(error) }));

  const drain = async (graceMs: number): Promise<void> => {
    core.work.close();
    for (const one of Array.from(core.openStreams)) safely(() => one.finish());
    if (await core.work.idle(settings.clock, graceMs)) return;
    core.pending.giveUpAll();
    // The replies are stored and sent.
    await core.work.idle(settings.clock, LAST_REPLIES_MS);
  };

  const close = async (): Promise<void> => {
    await drain(0);
    hide?.();
    for (const abandon of Array.from(core.connections)) safely(abandon);
    legacy.sessions.close();
  };

  return {
    connect: (channel: Channel, caller: Caller): Connection => new StreamConnection(core, channel, caller),
    exchange: (request: Exchange): Answer | Promise<Answer> => http.exchange(request),
    acceptsEither: settings.dialect.acceptsEither,
    report: reportOf(core, legacy),
    drain,
    close,
    [Symbol.asyncDispose]: close,
  };
}

const reportOf = ({ tasks }: Core, { sessions }: SessionHttp): GatewayReport => ({
  session: (id) => sessions.live(id)?.report(),
  sessions: () => sessions.reports(),
  tasks: () => tasks?.reports() ?? [],
  earlierTasks: async (limit) => (await tasks?.earlier(limit)) ?? [],
  cancelTask: (id) => tasks?.cancelByOperator(id),
});

const overBudget = (): Fault =>
  new Fault("BUSY", "Too much that was sent here is still being worked on; try again in a moment, or send less at once.", {
    headers: { "retry-after": "1" },
  });

/** One that is no longer known takes a token for its next round. */
const MOST_OPEN_CALLS = 10_000;

function createCore(settings: Settings): Core {
  const work = new WorkCounter();
  const pending = new PendingReplies();
  const tasks = settings.tasks ? new Tasks({ settings, work, pending }) : undefined;
  const takeToken = rateLimiter(settings.rateLimit, settings.clock);
  return {
    settings,
    serverMeta: settings.serverInfoInResults ? { [SERVER_META]: shapeInfo(settings.info, LATEST_MODERN) } : {},
    work,
    pending,
    tasks,
    openStreams: new Set(),
    sentEvents: new SentEvents(settings),
    silentCalls: new SilentCalls(settings.clock),
    memory: new InFlightMemoryBudget(settings.limits.heldBytes, overBudget),
    connections: new Set(),
    methods: methodsOf(settings, tasks),
    openCalls: new Lru(MOST_OPEN_CALLS),
    limit: (caller: Caller, viewer?: Viewer) => takeToken(viewer?.principal ?? caller.principal ?? peerOf(caller.peer), caller),
    admit() {
      if (work.closed) throw draining();
    },
  };
}

/** Takes a token for that key or throws `RATE`. Without a rate, local peers have a looser one than others; `false`: no limit. */
function rateLimiter(rate: Rate | false | undefined, clock: Clock): (key: string, caller: Caller) => void {
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
