// Owns: the endpoints of a packet server: HTTP, WebSocket and TCP. Does not own: ordered connections (connection.ts).
import {
  type Answer,
  type Caller,
  type Channel,
  checkOptions,
  type Connection,
  type HttpMount,
  type Json,
  type JsonObject,
  type MountRequest,
  type OptionTable,
  type SocketMount,
} from "../../core/contract/index.ts";
import { counted, normalizedPath, TEXT } from "../../core/contract/internal.ts";
import { type PacketConnectionOptions, InFlightPackets, packetConnection } from "./connection.ts";
import type { PacketFlow, PacketSession } from "./packet-flow.ts";
import { errorIn, PACKET_PROTOCOL, type PacketErrorType } from "./packet.ts";
import { packetRefusal, refusalText } from "./reply.ts";

/** Options of `packetEndpoints`: limits of connections and of the HTTP endpoint. */
export interface PacketEndpointsOptions extends PacketConnectionOptions, PacketMountOptions {}

/** The endpoints of a packet server, for the listeners of an application. */
export interface PacketEndpoints {
  /** For `HttpOptions.endpoints`. */
  readonly http: HttpMount;
  /** For `HttpOptions.upgrades`, at the same path. */
  readonly webSocket: SocketMount;
  /** Part of `TcpOptions`. */
  readonly tcp: {
    readonly gateway: { connect(channel: Channel, caller: Caller): Connection };
    readonly tokenPlace: string;
    readonly refusal: (kind: string, message: string, id: string | number | null) => string;
  };
}

const OPTIONS: OptionTable<PacketEndpointsOptions> = { inFlight: true, path: TEXT, schema: true, lines: true, linesInFlight: true };

/** The endpoints of a packet server: HTTP and WebSocket mounts for `serveHttp`, and connections for `serveTcp`. */
export function packetEndpoints(flow: Pick<PacketFlow, "open">, options: PacketEndpointsOptions = {}): PacketEndpoints {
  checkOptions("packetEndpoints", options, OPTIONS);
  const connect = (channel: Channel, caller: Caller): Connection => packetConnection(flow, channel, caller, options);
  const http = httpMount(flow, options);
  return {
    http,
    webSocket: { path: http.path, protocol: PACKET_PROTOCOL, connect },
    tcp: { gateway: { connect }, refusal: packetRefusal, tokenPlace: 'metadata["troupe/authorization"] of the first packet' },
  };
}

interface PacketMountOptions {
  /** Default `/packets`. */
  readonly path?: string;
  /** The response to GET. Absent: GET is not supported. */
  readonly schema?: Json;
  /** Packets in one body of lines. Default 10,000. */
  readonly lines?: number;
  /** Packets of one body of lines that run concurrently. Default 256. */
  readonly linesInFlight?: number;
}

const JSON_TYPE = "application/json";
const LINES_TYPE = "application/x-ndjson";

/**
 * `POST /packets`. With `application/json`, one packet and one reply. With `application/x-ndjson`, one packet per line; replies are lines in
 * order of completion, each after its progress, and the status is 200.
 *
 * The status for a single packet describes the exchange, not the capability's result: 400 if it is not a packet (`protocol_error`,
 * `unsupported_version`, `unknown_type`), 429 with `Retry-After` if it is `rate_limited`, otherwise 200, also for a `capability_error`.
 * Errors of the endpoint itself (415, 413, 404) also have a `capability_error` as their body.
 */
function httpMount(flow: Pick<PacketFlow, "open">, options: PacketMountOptions = {}): HttpMount {
  const { path = "/packets", schema, lines: max = 10_000, linesInFlight: inFlight = 256 } = options;
  const schemaText = schema === undefined ? undefined : JSON.stringify(schema);

  return {
    path,
    verbs: schemaText === undefined ? ["POST"] : ["GET", "POST"],
    handle(request) {
      if (normalizedPath(request.path) !== path) return refused(404, `There is nothing at this path: packets are at ${path}.`);
      if (request.verb === "GET") return { status: 200, body: schemaText ?? "" };
      const { body = new Uint8Array() } = request;
      const type = mediaType(request.header("content-type"));
      if (type === JSON_TYPE) return handleOnePacket(flow, request, body);
      if (type !== LINES_TYPE)
        return refused(415, `Send Content-Type: ${JSON_TYPE} with one packet, or ${LINES_TYPE} with one a line, in UTF-8.`);
      const lines = splitLines(body, max);
      if (lines === undefined) return refused(413, `A body may have at most ${counted(max, "packet")}: send less at once.`, { limit: max });
      if (lines.length === 0) return refused(400, "There is no packet in the body: send one a line.");
      return runLines({ flow, channel: request.lines(), caller: request.caller, lines, inFlight }).then(() => ({ status: 200 }));
    },
  };
}

async function handleOnePacket(flow: Pick<PacketFlow, "open">, request: MountRequest, body: Uint8Array): Promise<Answer> {
  const session: PacketSession = flow.open({ caller: request.caller });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= session.close());
  const abandon = (): void => void close();
  request.disconnected.addEventListener("abort", abandon, { once: true });
  try {
    const reply = await session.receive(body);
    const status = reply.type === "capability_error" ? (STATUS_BY_ERROR[errorIn(reply).type] ?? 200) : 200;
    const answer = { status, body: JSON.stringify(reply) };
    if (status !== 429) return answer;
    const { retry_after: seconds } = reply.metadata;
    return { ...answer, headers: { "retry-after": typeof seconds === "number" ? String(seconds) : "1" } };
  } finally {
    request.disconnected.removeEventListener("abort", abandon);
    await close();
  }
}

const STATUS_BY_ERROR: Readonly<Partial<Record<PacketErrorType, number>>> = {
  protocol_error: 400,
  unsupported_version: 400,
  unknown_type: 400,
  rate_limited: 429,
};

const refused = (status: number, message: string, details?: JsonObject): Answer => ({
  status,
  body: refusalText("protocol_error", message, details),
});

/** Undefined: none, or with another charset than UTF-8, which RFC 8259 (8.1) requires between systems. */
function mediaType(header: string | undefined): string | undefined {
  const [type = "", ...parameters] = (header ?? "").toLowerCase().split(";");
  const other = parameters.some((parameter) => /^\s*charset\s*=/.test(parameter) && !/=\s*"?utf-8"?\s*$/.test(parameter));
  return other ? undefined : type.trim();
}

const LINE_FEED = 10;
const isBlank = (line: Uint8Array): boolean => line.every((byte) => byte === 32 || byte === 9 || byte === 13);

/** The lines that are not blank. Undefined: there are more than `most`. */
function splitLines(body: Uint8Array, max: number): readonly Uint8Array[] | undefined {
  const lines: Uint8Array[] = [];
  let from = 0;
  while (from < body.length) {
    const found = body.indexOf(LINE_FEED, from);
    const to = found < 0 ? body.length : found;
    const line = body.subarray(from, to);
    from = to + 1;
    if (isBlank(line)) continue;
    if (lines.length === max) return undefined;
    lines.push(line);
  }
  return lines;
}

interface LineBatch {
  readonly flow: Pick<PacketFlow, "open">;
  readonly channel: Channel;
  readonly caller: Caller;
  readonly lines: readonly Uint8Array[];
  /** Packets that run concurrently. */
  readonly inFlight: number;
}

/**
 * Runs one packet per line, started in order, and sends each reply when it is ready. Starts no more while the client does not read (C8).
 * Resolves when all have been answered, or when the client has disconnected and nothing runs any more.
 */
async function runLines({ flow, channel, caller, lines, inFlight }: LineBatch): Promise<void> {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const remaining = lines.values();
  let line = remaining.next();

  const startNext = (): void => {
    if (channel.disconnected.aborted) return resolve();
    while (line.done !== true && packets.count < inFlight && channel.ready) {
      const { value } = line;
      line = remaining.next();
      packets.start(value);
    }
    if (line.done === true && packets.count === 0) resolve();
  };
  const packets = new InFlightPackets({ flow, channel, caller, maxProgress: inFlight, onAnswered: startNext });

  const undoReady = channel.onReady(startNext);
  channel.disconnected.addEventListener("abort", startNext, { once: true });
  startNext();
  await done;
  undoReady();
  channel.disconnected.removeEventListener("abort", startNext);
  await packets.close();
}
