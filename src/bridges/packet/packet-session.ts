// Owns: the packets of one client: who sends them, dispatch by type, cancellation, exactly one reply each.
//   Does not own: transports (connection.ts, endpoints.ts), running capabilities (running.ts).
import type { Caller, Json, JsonObject, Progress, Viewer } from "../../core/contract/index.ts";
import { getOwn, type InFlightMemoryBudget, isLarge, omitUndefined } from "../../core/contract/internal.ts";
import type { Ran } from "./capability.ts";
import type { McpTunnel } from "./mcp-tunnel.ts";
import type { PacketSession, Reception } from "./packet-flow.ts";
import { type PacketContext, PacketError, type ReplyPacket, type RequestPacket } from "./packet.ts";
import { readPacket } from "./read-packet.ts";
import { errorTo, heartbeatTo, progressFor, type ReplyDetails, responseTo } from "./reply.ts";
import type { Running } from "./running.ts";
import { withTraceparent } from "./tunnel-connection.ts";

interface SessionHost {
  readonly running: Running;
  /** Absent: MCP is not served. */
  readonly tunnel: McpTunnel | undefined;
  /** Rate limit: takes one token of the caller. Throws `rate_limited`. */
  readonly admit: (caller: Caller) => void;
  /** Memory of large packets in progress. */
  readonly memoryBudget: InFlightMemoryBudget;
  readonly traceId: () => string;
  /** A clock in milliseconds, for durations. */
  readonly elapsed: () => number;
  readonly fault: (error: unknown, packet: RequestPacket) => void;
}

/** A request in progress, and how to cancel it. */
interface InFlightRequest {
  readonly packet: RequestPacket;
  readonly abort: AbortController;
  readonly startedAt: number;
  /** The actor it is for, once that is known. */
  actor_id?: string;
}

/** The name of the idempotency key, as in MCP's `_meta`. */
const CALL_ID = "troupe/callId";

/** The packets of one client. Every packet gets exactly one reply. */
export class Session implements PacketSession {
  readonly #host: SessionHost;
  readonly #reception: Reception;
  readonly #inFlight = new Map<InFlightRequest, Promise<ReplyPacket>>();
  #closed = false;

  constructor(host: SessionHost, reception: Reception) {
    this.#host = host;
    this.#reception = reception;
  }

  receive(text: string | Uint8Array): Promise<ReplyPacket> {
    const startedAt = this.#host.elapsed();
    const packet = readPacket(text);
    if (packet instanceof PacketError) {
      const { trace_id = this.#host.traceId() } = packet.echo.context;
      return Promise.resolve(errorTo(packet.echo, packet, { execution_time_ms: this.#elapsedSince(startedAt), trace_id }));
    }
    const request: InFlightRequest = { packet, abort: new AbortController(), startedAt };
    const reply = this.#answer(request, text).finally(() => this.#inFlight.delete(request));
    this.#inFlight.set(request, reply);
    return reply;
  }

  async close(): Promise<void> {
    this.#closed = true;
    // Newest first, so that cancelling a request does not start another that waits for it.
    const ended = [...this.#inFlight.values()];
    for (const { abort } of [...this.#inFlight.keys()].toReversed()) abort.abort();
    await Promise.allSettled(ended);
  }

  async #answer(request: InFlightRequest, text: string | Uint8Array): Promise<ReplyPacket> {
    const { packet } = request;
    const trace_id = packet.context.trace_id ?? this.#host.traceId();
    try {
      if (this.#closed) throw new PacketError("cancelled", "The connection is closing.");
      this.#host.admit(this.#reception.caller);
      return await (isLarge(text) ? this.#replyToLarge(text, request, trace_id) : this.#replyTo(request, trace_id));
    } catch (error) {
      // Errors of capabilities are reported by `Running`.
      if (!(error instanceof PacketError)) this.#host.fault(error, packet);
      const failure = error instanceof PacketError ? error : new PacketError("execution_failed", "It failed inside: the log says where.");
      return errorTo(packet, failure, this.#details(request, trace_id));
    }
  }

  /** A large packet counts against the memory budget while it is handled. A separate method, since closures allocate on each call. */
  #replyToLarge(text: string | Uint8Array, request: InFlightRequest, trace_id: string): Promise<ReplyPacket> | ReplyPacket {
    return this.#host.memoryBudget.during(text, this.#reception.caller, () => this.#replyTo(request, trace_id));
  }

  async #replyTo(request: InFlightRequest, trace_id: string): Promise<ReplyPacket> {
    const { packet, abort } = request;
    switch (packet.type) {
      case "heartbeat":
        return heartbeatTo(packet, this.#details(request, trace_id));
      case "cancel":
        return responseTo(packet, { result: { cancelled: this.#cancel(packet.payload["id"]) }, ...this.#details(request, trace_id) });
      case "mcp_request": {
        const result = await this.#tunnelRequest(packet, abort.signal, trace_id);
        return responseTo(packet, { result, ...this.#details(request, trace_id) });
      }
      case "capability_request":
      case "actor_message":
        return responseTo(packet, { ...(await this.#run(request, trace_id)), ...this.#details(request, trace_id) });
      default:
        return packet.type satisfies never;
    }
  }

  #run(request: InFlightRequest, trace_id: string): Promise<Ran> {
    const { packet, abort } = request;
    const { capability_id = "", payload, context, actor_id, actor_options } = packet;
    const { tell, caller } = this.#reception;
    const viewer = withGuestPrincipal(viewerFor(caller, context), context);
    const onProgress: Progress = (progress, total, message) => {
      // JSON has no other numbers.
      if (Number.isFinite(progress)) tell?.(progressFor(packet, { progress, total, message }, this.#details(request, trace_id)));
    };
    return this.#host.running.run(capability_id, payload, {
      viewer,
      context: { ...context, trace_id, ...(viewer.principal === undefined ? {} : { user_id: viewer.principal }) },
      signal: abort.signal,
      actorOnly: packet.type === "actor_message",
      ...keyIn(packet),
      ...omitUndefined({ actor_id, actor_options, peer: caller.peer, onProgress: tell && onProgress }),
      onActor: (id) => void (request.actor_id = id),
    });
  }

  async #tunnelRequest({ payload, context }: RequestPacket, signal: AbortSignal, trace_id: string): Promise<JsonObject> {
    const { tunnel } = this.#host;
    if (tunnel === undefined) throw new PacketError("capability_not_found", "Nothing is served over MCP here.");
    const { principal, scopes, claims } = withGuestPrincipal(viewerFor(this.#reception.caller, context), context);
    const { peer } = this.#reception.caller;
    const caller: Caller = { scopes, ...omitUndefined({ principal, claims, peer }) };
    const message = withTraceparent(getOwn(payload, "mcp_message") ?? null, trace_id);
    const response = await tunnel.request(message, caller, context.session_id, { signal });
    return response === undefined ? {} : { mcp_message: response };
  }

  /** Cancels the requests with that id. Returns how many there were. */
  #cancel(id: Json | undefined): number {
    const matching = [...this.#inFlight.keys()].filter(
      ({ packet, abort }) => packet.id === id && packet.type !== "cancel" && !abort.signal.aborted,
    );
    for (const { abort } of matching.toReversed()) abort.abort();
    return matching.length;
  }

  #details({ startedAt, actor_id }: InFlightRequest, trace_id: string): ReplyDetails {
    return { execution_time_ms: this.#elapsedSince(startedAt), trace_id, ...omitUndefined({ actor_id }) };
  }

  /** In milliseconds, rounded to microseconds. */
  #elapsedSince(startedAt: number): number {
    return Math.round((this.#host.elapsed() - startedAt) * 1_000) / 1_000;
  }
}

/** C4: a repeated packet with the same key gets the first reply. */
function keyIn({ metadata }: RequestPacket): { readonly key?: string } {
  const key = metadata === undefined ? undefined : getOwn(metadata, CALL_ID);
  if (key === undefined) return {};
  if (typeof key === "string" && key !== "" && key.length <= 256) return { key };
  throw new PacketError("validation_failed", `metadata["${CALL_ID}"] is text of 1 to 256 characters.`);
}

/** The scope that lets a connection act for other users. */
export const ACT_AS = "packets:act-as";

/** A guest without a user name is identified by its session, since actors need an owner. */
function withGuestPrincipal(viewer: Viewer, { session_id }: PacketContext): Viewer {
  return viewer.principal !== undefined || session_id === undefined ? viewer : { ...viewer, principal: `guest|session|${session_id}` };
}

/**
 * The user behind a packet. With authentication, `user_id` must be absent or the caller's own principal. Without, it names a guest,
 * whose actors are separate from those of authenticated users. Throws `unauthorized`.
 */
function viewerFor({ principal, scopes, claims }: Caller, { user_id }: PacketContext): Viewer {
  if (principal === undefined) return user_id === undefined ? { scopes } : { principal: `guest|${user_id}`, scopes };
  // The claims describe the caller, not the user it acts for.
  if (user_id === undefined || user_id === principal) return { principal, scopes, ...(claims === undefined ? {} : { claims }) };
  if (scopes.includes(ACT_AS)) return { principal: user_id, scopes: scopes.filter((scope) => scope !== ACT_AS) };
  throw new PacketError(
    "unauthorized",
    `This connection is ${JSON.stringify(principal)} and may not speak for others: leave user_id away, or get the scope ${ACT_AS}.`,
    { principal },
  );
}
