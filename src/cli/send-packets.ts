import { createReadStream } from "node:fs";
import { type JsonObject, isJsonObject } from "../core/contract/index.ts";
import { tryParseJson, stripBom } from "../core/contract/internal.ts";
import { textOf as decodeUtf8 } from "../core/platform/index.ts";
import { errorIn } from "../bridges/packet/client-reply.ts";
import { parsePacketText } from "../bridges/packet/packet-text.ts";
import { CommandError, usage } from "./command-error.ts";
import { whyUnreadable } from "./files.ts";
import { output, visible } from "./output.ts";
import { openClient, packetFailure, type PacketPlace } from "./packet-place.ts";

const STANDARD = "-";
const MOST_BYTES = 67_108_864;

/** In their order, each when the one before is answered: what they do to one actor they do in that order. Ends as the first that failed. */
export const sendPackets = async (file: string, place: PacketPlace): Promise<void> => {
  const packets = packetsIn(await textOf(file), file);
  const out = output(place);
  const show = (packet: object): void => out.show(packet, () => visible(JSON.stringify(packet, null, 2)));
  let failure: unknown;
  using client = openClient(place);
  for (const [at, packet] of packets.entries())
    try {
      const reply = await client.send(packet, {
        onProgress: (progress) => (out.json ? show(progress) : out.note(progressText(progress.payload))),
      });
      show(reply);
      if (reply.type === "capability_error") failure ??= packetFailure(errorIn(reply));
    } catch (error) {
      const ended = packetFailure(error);
      throw packets.length > 1 && ended instanceof CommandError
        ? new CommandError(ended.exit, ended.code, `Packet ${at + 1} of ${packets.length}: ${ended.message} Those after it were not sent.`)
        : ended;
    }
  if (failure !== undefined) throw failure;
};

const progressText = ({ progress, total, message }: JsonObject): string => {
  const done = typeof progress === "number" ? [typeof total === "number" ? `${progress} of ${total}` : String(progress)] : [];
  return visible([...done, ...(typeof message === "string" ? [message] : [])].join(": "));
};

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

/** What is refused as text would be lost with it: numbers that are rounded, members that are there twice. */
const packetIn = (text: string, where: string): JsonObject => {
  const { value, issue } = parsePacketText(text);
  if (issue !== undefined && tryParseJson(text) !== undefined)
    throw usage(`${where} is no packet: ${issue.path === "" ? "" : `${issue.path}: `}${issue.message} Nothing was sent.`);
  if (isJsonObject(value)) return value;
  throw usage(`${where} is no packet: write each as a JSON object, several one a line. Nothing was sent.`);
};

const nameOf = (file: string): string => (file === STANDARD ? "Standard input" : file);
