import { isJsonObject, untilAborted } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import type { Carrier, Outbound } from "./client-carrier.ts";
import { codeOf, givenUp, PacketClientError, reasonFor } from "./client-error.ts";
import { BadLine, ClientLines } from "./client-lines.ts";
import { PacketError } from "./packet-error.ts";
import type { ReplyPacket } from "./packet.ts";
import { readReply } from "./read-reply.ts";

export interface HttpCarrierOptions {
  readonly url: URL;
  readonly token: () => Promise<string | undefined>;
  /** Of one packet that comes back. */
  readonly maxChars: number;
}

/** Errors of sockets that were never connected: nothing was sent. */
const NEVER_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** One POST for each packet; one of lines where progress is wanted, since a single reply has no room for it. */
export class HttpCarrier implements Carrier {
  readonly #options: HttpCarrierOptions;
  readonly #closing = new AbortController();

  constructor(options: HttpCarrierOptions) {
    this.#options = options;
  }

  async carry({ text, signal, progressed }: Outbound): Promise<ReplyPacket> {
    const { url, token: ask } = this.#options;
    const both = AbortSignal.any([signal, this.#closing.signal]);
    let applied: false | "unknown" = false;
    try {
      const token = await untilAborted(both, ask);
      applied = "unknown";
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": progressed === undefined ? "application/json" : "application/x-ndjson",
          accept: progressed === undefined ? "application/json" : "application/x-ndjson, application/json",
          ...(token === undefined ? undefined : { authorization: `Bearer ${token}` }),
        },
        body: text,
        // A token is for this address alone.
        redirect: "manual",
        signal: both,
      });
      return await this.#reply(response, signal, progressed);
    } catch (error) {
      if (this.#closing.signal.aborted) throw new PacketClientError("CLOSED", "The client is closed.", { applied });
      if (signal.aborted) throw givenUp(signal, applied);
      if (error instanceof PacketClientError || error instanceof PacketError) throw error;
      throw applied === false ? unreachable(url, error) : broken(url, error);
    }
  }

  close(): void {
    this.#closing.abort();
  }

  async #reply(response: Response, signal: AbortSignal, progressed: Outbound["progressed"]): Promise<ReplyPacket> {
    for await (const line of linesOf(response, this.#options.maxChars)) {
      const packet = readReply(line);
      if (packet === undefined) throw noPacket(response, line);
      if (packet.type !== "capability_progress") return packet;
      progressed?.(packet);
      // Whoever was told may have given up by that, while the reply is here already.
      signal.throwIfAborted();
    }
    throw response.ok
      ? new PacketClientError("LOST", "The response ended before the reply came.", { applied: "unknown" })
      : noPacket(response, "");
  }
}

async function* linesOf({ body }: Response, maxChars: number): AsyncGenerator<string> {
  const lines = new ClientLines(maxChars);
  // Not `for await`: some browsers' streams cannot be iterated.
  const reader = body?.getReader();
  try {
    for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) yield* lines.push(read.value);
    yield* lines.end();
  } finally {
    // What follows the reply is of no use. It fails where the connection is gone already.
    void reader?.cancel().catch(() => undefined);
  }
}

/** The server, or something before it, answered in words of its own. */
function noPacket({ status, url }: Response, line: string): PacketClientError | PacketError {
  const why = saidIn(line);
  const said = `${url} answered ${status}${why === "" ? "" : ` (${why})`}`;
  if (status === 401 || status === 403) return new PacketError("unauthorized", `${said}: give a token that is valid there.`);
  // A proxy that lost its server cannot say what became of the request.
  const applied = (status >= 300 && status < 500) || status === 503 ? false : "unknown";
  if (status === 503 || status === 429) return new PacketClientError("UNREACHABLE", `${said}: try again later.`, { applied });
  return new PacketClientError(
    "BAD_REPLY",
    `${said}, which is no packet: give the address where packets are taken, such as http://127.0.0.1:3000/packets.`,
    {
      applied,
    },
  );
}

function saidIn(line: string): string {
  const value = tryParseJson(line);
  const { error } = isJsonObject(value) ? value : {};
  const message = isJsonObject(error) ? error["message"] : undefined;
  return typeof message === "string" ? message.slice(0, 500).replace(/\.$/, "") : "";
}

function broken(url: URL, error: unknown): PacketClientError {
  if (error instanceof BadLine) return new PacketClientError("BAD_REPLY", error.message, { applied: "unknown", cause: error });
  const code = codeOf(error) ?? (error instanceof Error ? codeOf(error.cause) : undefined);
  if (code !== undefined && NEVER_SENT.has(code)) return unreachable(url, error);
  return new PacketClientError("LOST", `The request to ${url.origin} broke: ${reasonFor(error)}.`, { applied: "unknown", cause: error });
}

const unreachable = ({ origin }: URL, error: unknown): PacketClientError =>
  new PacketClientError("UNREACHABLE", `${origin} cannot be reached: ${reasonFor(error).replace(/\.$/, "")}.`, {
    applied: false,
    cause: error,
  });
