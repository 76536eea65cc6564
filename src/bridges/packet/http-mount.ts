import { type Answer, type JsonObject, type MountRequest, type HttpMount, isJsonObject, type Json } from "../../core/contract/index.ts";
import type { PacketErrorType } from "./packet-error.ts";
import type { PacketFlow, PacketSession } from "./packet-flow.ts";
import { linesOf, runLines } from "./packet-lines.ts";
import type { ReplyPacket } from "./packet.ts";
import { refusalOf } from "./refused-frame.ts";

export interface PacketMountOptions {
  /** Default `/packets`. */
  readonly path?: string;
  /** What GET answers. Absent: there is no GET. */
  readonly schema?: Json;
  /** Packets of one body of lines. Default 10,000. */
  readonly lines?: number;
  /** Of one body of lines under way at once; the rest waits. Default 256. */
  readonly linesInFlight?: number;
}

const JSON_TYPE = "application/json";
const LINES_TYPE = "application/x-ndjson";

/**
 * `POST /packets`. `application/json`: one packet, answered with one.
 * `application/x-ndjson`: one packet a line, each answered with a line as it
 * becomes ready, its progress before it; status 200 whatever they say.
 *
 * The status of one packet is that of the exchange, not of what the capability
 * made of it: 400 where it is none (`protocol_error`, `unsupported_version`,
 * `unknown_type`), 429 with `Retry-After` where it came too soon
 * (`rate_limited`), else 200, also for a `capability_error`. What the listener refuses
 * by itself (415, 413, 404) has a `capability_error` for a body too.
 */
export function packetMount(flow: Pick<PacketFlow, "open">, options: PacketMountOptions = {}): HttpMount {
  const { path = "/packets", schema, lines: most = 10_000, linesInFlight: inFlight = 256 } = options;
  const schemaText = schema === undefined ? undefined : JSON.stringify(schema);

  return {
    path,
    verbs: schemaText === undefined ? ["POST"] : ["GET", "POST"],
    handle(request) {
      if (request.path !== path) return refused(404, `There is nothing at this path: packets are at ${path}.`);
      if (request.verb === "GET") return { status: 200, body: schemaText ?? "" };
      const { body = new Uint8Array() } = request;
      const type = mediaType(request.header("content-type"));
      if (type === JSON_TYPE) return one(flow, request, body);
      if (type !== LINES_TYPE)
        return refused(415, `Send Content-Type: ${JSON_TYPE} with one packet, or ${LINES_TYPE} with one a line, in UTF-8.`);
      const lines = linesOf(body, most);
      if (lines === undefined) return refused(413, `A body may have at most ${most} packets: send less at once.`, { limit: most });
      if (lines.length === 0) return refused(400, "There is no packet in the body: send one a line.");
      return runLines({ flow, channel: request.lines(), caller: request.caller, lines, inFlight }).then(() => ({ status: 200 }));
    },
  };
}

async function one(flow: Pick<PacketFlow, "open">, request: MountRequest, body: Uint8Array): Promise<Answer> {
  const session: PacketSession = flow.open({ caller: request.caller });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= session.close());
  const abandon = (): void => void close();
  request.disconnected.addEventListener("abort", abandon, { once: true });
  try {
    const reply = await session.receive(body);
    const wrong = errorType(reply);
    const status = wrong === undefined ? 200 : (STATUS[wrong] ?? 200);
    const answer = { status, body: JSON.stringify(reply) };
    if (status !== 429) return answer;
    const { retry_after: seconds } = reply.metadata;
    return { ...answer, headers: { "retry-after": typeof seconds === "number" ? String(seconds) : "1" } };
  } finally {
    request.disconnected.removeEventListener("abort", abandon);
    await close();
  }
}

const STATUS: Readonly<Record<string, number>> = {
  protocol_error: 400,
  unsupported_version: 400,
  unknown_type: 400,
  rate_limited: 429,
} satisfies Partial<Record<PacketErrorType, number>>;

function errorType({ type, payload }: ReplyPacket): string | undefined {
  const { error } = payload;
  if (type !== "capability_error" || !isJsonObject(error)) return undefined;
  return typeof error["type"] === "string" ? error["type"] : undefined;
}

const refused = (status: number, message: string, details?: JsonObject): Answer => ({
  status,
  body: refusalOf("protocol_error", message, details),
});

/** Undefined: none, or in another charset than JSON has between systems (RFC 8259, 8.1). */
function mediaType(header: string | undefined): string | undefined {
  const [type = "", ...parameters] = (header ?? "").toLowerCase().split(";");
  const other = parameters.some((parameter) => /^\s*charset\s*=/.test(parameter) && !/=\s*"?utf-8"?\s*$/.test(parameter));
  return other ? undefined : type.trim();
}
