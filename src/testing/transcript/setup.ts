import { type JsonObject, isJsonObject, type Json } from "../../core/contract/index.ts";
import { objectIn, parsed } from "../client/message.ts";
import type { TranscriptAnswer } from "./transcript.ts";

/** What the answers tell of the server that gave them: its name and version, and the sessions it made, in their order. */
export function setupSeen(answers: readonly TranscriptAnswer[]): JsonObject {
  const server = answers.flatMap(messagesOf).map(infoIn).find(isJsonObject);
  const sessions = new Set(answers.flatMap(({ headers }) => headers["mcp-session-id"] ?? []));
  return {
    ...(server === undefined ? undefined : { server }),
    ...(sessions.size === 0 ? undefined : { id_sequence: [...sessions] }),
  };
}

const messagesOf = ({ body_json: body, sse_frames: frames = [] }: TranscriptAnswer): readonly (Json | undefined)[] => [
  body,
  ...frames.map(({ data }) => parsed(data)),
];

function infoIn(message: Json | undefined): JsonObject | undefined {
  const result = isJsonObject(message) ? objectIn(message, "result") : {};
  const info = result["serverInfo"] ?? objectIn(result, "_meta")["io.modelcontextprotocol/serverInfo"];
  if (!isJsonObject(info)) return undefined;
  const { name, version } = info;
  return typeof name === "string" && typeof version === "string" ? { name, version } : undefined;
}
