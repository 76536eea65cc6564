import type { Answer, Caller, Channel, Connection, Exchange, Gateway, Source } from "../../core/contract/index.ts";
import { safeCall } from "../../core/contract/internal.ts";
import { meta } from "../source/index.ts";
import { StreamConnection } from "./connection.ts";
import { createCore } from "./core.ts";
import { inLog } from "./errors.ts";
import { GatewayHttp } from "./http.ts";
import { LegacyHttp } from "./legacy/http.ts";
import type { GatewayOptions } from "./options.ts";
import { settle } from "./settings.ts";

const LAST_REPLIES_MS = 1_000;

/**
 * The MCP protocol engine for one source: legacy and modern revisions, on streams
 * and over HTTP. It holds no listener of its own; transports feed it.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const settings = settle(options);
  const core = createCore(settings);
  let wrapped: Source | undefined;
  const sourceFor = (posture: string | undefined): Source => (posture === "meta" ? (wrapped ??= meta(settings.source)) : settings.source);
  const legacy = new LegacyHttp(core, sourceFor);
  const hide = settings.observer?.shows?.(() => ({
    sessions: legacy.sessions.size,
    connections: core.connections.size,
    streams: core.open.size,
    requests: core.work.running,
  }));
  const http = new GatewayHttp(core, legacy, sourceFor);

  // One that fails is no reason to leave the others.
  const ended = (end: () => void): void => safeCall(end, (error) => settings.log("error", { event: "end-failed", ...inLog(error) }));

  const drain = async (graceMs: number): Promise<void> => {
    core.work.close();
    for (const one of Array.from(core.open)) ended(() => one.finish());
    if (await core.work.idle(settings.clock, graceMs)) return;
    core.unfinished.refuseAll();
    // Replies are kept and sent.
    await core.work.idle(settings.clock, LAST_REPLIES_MS);
  };

  return {
    connect: (channel: Channel, caller: Caller): Connection => new StreamConnection(core, channel, caller),
    exchange: (request: Exchange): Answer | Promise<Answer> => http.exchange(request),
    acceptsEither: settings.profile.acceptsEither,
    drain,
    async [Symbol.asyncDispose]() {
      await drain(0);
      hide?.();
      for (const abandon of Array.from(core.connections)) ended(abandon);
      legacy.sessions.close();
    },
  };
}
