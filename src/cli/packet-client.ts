// Owns: how commands reach a packet server: the connection, packets read from a file, and how an error ends a command. Does not own: the
// client (bridges/packet).
import { createReadStream } from "node:fs";
import { PacketClientError } from "../bridges/packet/client-error.ts";
import { type PacketClient, packetClient } from "../bridges/packet/client.ts";
import { parsePacketText } from "../bridges/packet/packet-json.ts";
import { PacketError, type PacketErrorType } from "../bridges/packet/packet.ts";
import { isJsonObject, type JsonObject } from "../core/contract/index.ts";
import { omitUndefined, stripBom, tryParseJson } from "../core/contract/internal.ts";
import { textOf as decodeUtf8 } from "../core/platform/index.ts";
import { CommandError, EXIT, type ExitCode, usage } from "./command-error.ts";
import { whyUnreadable } from "./files.ts";

export { errorIn } from "../bridges/packet/packet.ts";

/** The packet server, and the token of the caller. */
export interface PacketServer {
  readonly url: string;
  readonly token?: string;
  readonly timeout: number;
  readonly json?: boolean;
}

/** A client for one command: it tries to connect once. */
export const openClient = ({ url, token, timeout }: PacketServer): PacketClient =>
  packetClient(url, { timeoutMs: timeout, patienceMs: 0, ...omitUndefined({ token }) });

const EXITS: Readonly<Partial<Record<PacketErrorType, ExitCode>>> = {
  protocol_error: EXIT.usage,
  unsupported_version: EXIT.usage,
  unknown_type: EXIT.usage,
  capability_not_found: EXIT.notFound,
  actor_not_found: EXIT.notFound,
  validation_failed: EXIT.refused,
  no_handler: EXIT.refused,
  unauthorized: EXIT.refused,
  actor_limit_exceeded: EXIT.refused,
  rate_limited: EXIT.refused,
};

/** The error of a command whose packet failed or got no reply. */
export const packetFailure = (error: unknown): unknown => {
  if (error instanceof PacketError) return new CommandError(EXITS[error.type] ?? EXIT.failed, error.type, error.message);
  if (!(error instanceof PacketClientError)) return error;
  // Without a cause, a server or proxy answered that it cannot serve now.
  const remedy = error.cause === undefined ? "" : " Start the server first, or name its address with --url.";
  if (error.code === "UNREACHABLE") return new CommandError(EXIT.unavailable, "UNREACHABLE", `${error.message}${remedy}`);
  return new CommandError(EXIT.failed, error.code, error.message);
};

const STANDARD = "-";
const MOST_BYTES = 67_108_864;

/** The packets in a file or on standard input. Throws `USAGE` if it contains anything else. */
export const readPackets = async (file: string): Promise<readonly JsonObject[]> => packetsIn(await textOf(file), file);

const textOf = async (file: string): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of file === STANDARD ? process.stdin : createReadStream(file)) {
      const read = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
      bytes += read.length;
      if (bytes > MOST_BYTES) break;
      chunks.push(read);
    }
  } catch (error) {
    throw usage(`${file} cannot be read: ${whyUnreadable(error)}.`);
  }
  if (bytes > MOST_BYTES) throw usage(`${nameOf(file)} has more than ${MOST_BYTES} bytes: send fewer packets at once.`);
  const text = decodeUtf8(Buffer.concat(chunks));
  if (text === undefined) throw usage(`${nameOf(file)} is not UTF-8: write it in that. Nothing was sent.`);
  return stripBom(text);
};

/** One packet over several lines, or one a line. */
const packetsIn = (text: string, file: string): readonly JsonObject[] => {
  if (tryParseJson(text) !== undefined) return [packetIn(text, nameOf(file))];
  const lines = text.split("\n").flatMap((line, at) => (line.trim() === "" ? [] : [{ line, where: `${nameOf(file)}, line ${at + 1},` }]));
  if (lines.length === 0) throw usage(`${nameOf(file)} has no packet: write one as JSON, or one a line.`);
  return lines.map(({ line, where }) => packetIn(line, where));
};

/** Parses the text strictly: JSON.parse would silently round numbers and drop duplicate members. */
const packetIn = (text: string, where: string): JsonObject => {
  const { value, issue } = parsePacketText(text);
  if (issue !== undefined && tryParseJson(text) !== undefined)
    throw usage(`${where} is no packet: ${issue.path === "" ? "" : `${issue.path}: `}${issue.message} Nothing was sent.`);
  if (isJsonObject(value)) return value;
  throw usage(`${where} is no packet: write each as a JSON object, several one a line. Nothing was sent.`);
};

const nameOf = (file: string): string => (file === STANDARD ? "Standard input" : file);
