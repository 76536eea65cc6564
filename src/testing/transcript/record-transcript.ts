// Owns: `recordTranscript`: the requests of a client and their answers as a transcript. Does not own: its format (transcript.ts).
import { checkOptions, isJsonObject, type Json, type JsonObject } from "../../core/contract/index.ts";
import { TestClient } from "../client/client.ts";
import type { TestClientOptions } from "../client/conversation.ts";
import type { Exchanging, Frame, HttpAnswer, HttpCall, HttpRequest } from "../client/http-call.ts";
import { objectIn, parsed } from "../client/messages.ts";
import { settle } from "../simulated-clock.ts";
import type { Transcript, TranscriptAnswer, TranscriptRequest, TranscriptStep } from "./transcript.ts";

/** Options of `recordTranscript`. */
export interface RecordOptions {
  /** The transcript's id. Default: the name. */
  readonly id?: string;
  readonly name: string;
  /** What a server must be to replay the transcript. `server` (name, version) and `id_sequence` (sessions) are added unless given. */
  readonly setup?: JsonObject;
  /** Options of the recorded client. `listen` is false by default. */
  readonly client?: TestClientOptions;
}

/**
 * Records the requests that a client makes while the function runs, and their answers. Of a stream that is open at the end, the events
 * so far are recorded.
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import { recordTranscript, testServer } from "troupe/testing";
 * import * as z from "zod";
 *
 * const door = actor("door", {
 *   description: "A door.",
 *   state: z.object({ open: z.boolean().default(false) }),
 *   tools: {
 *     open: {
 *       description: "Open it.",
 *       enabled: ({ state }) => !state.open || "It is already open.",
 *       run({ state }) {
 *         state.open = true;
 *         return "It creaks open.";
 *       },
 *     },
 *   },
 * });
 * await using server = await testServer([door]);
 * const transcript = await recordTranscript(server, { name: "opens the door" }, async (client) => {
 *   await client.callTool("open");
 * });
 * console.log(JSON.stringify(transcript, null, 2));
 * ```
 */
export async function recordTranscript(
  served: Exchanging,
  options: RecordOptions,
  run: (client: TestClient) => Promise<void>,
): Promise<Transcript> {
  checkOptions("recordTranscript", options, { id: true, name: true, setup: true, client: true });
  const { name, id = name, setup = {}, client: how } = options;
  const calls: HttpCall[] = [];
  const onCall = (call: HttpCall): void => {
    calls.push(call);
    how?.onCall?.(call);
  };
  await using client = new TestClient(served, { listen: false, ...how, onCall });
  await run(client);
  await settle();
  const events = new EventNumbers();
  const steps: TranscriptStep[] = [];
  const answers: TranscriptAnswer[] = [];
  for (const [at, call] of calls.entries()) {
    const { request } = call;
    const session = request.headers["mcp-session-id"] ?? (await call.answer).headers["mcp-session-id"] ?? "";
    steps.push({ name: nameOf(request, at), request: written(request, (last) => events.of(session, last)) });
    answers.push(await answered(call, (frame) => events.frame(session, frame)));
  }
  return {
    id,
    tier: "mcp",
    name,
    setup: { mcp: { ...setupSeen(answers), ...setup } },
    input: { mcp: { steps } },
    expect: { mcp: { steps: answers } },
  };
}

/** The answer to a call, as a transcript contains it. */
export async function answered({ answer, frames }: HttpCall, frame = (one: Frame): Frame => one): Promise<TranscriptAnswer> {
  const { status, headers, body, streamed }: HttpAnswer = await answer;
  const json = parsed(body);
  return {
    status,
    headers: lists(headers),
    cookies: [],
    is_base64: false,
    ...(streamed ? { sse_frames: frames.all.map(frame) } : json === undefined ? undefined : { body_json: json }),
  };
}

function nameOf({ verb, body }: HttpRequest, at: number): string {
  const message = body === undefined ? undefined : parsed(body);
  const method = isJsonObject(message) ? message["method"] : undefined;
  return `${at + 1}_${(typeof method === "string" ? method : verb.toLowerCase()).replaceAll("/", "_")}`;
}

function written({ verb, headers, body = "" }: HttpRequest, eventId: (id: string) => string): TranscriptRequest {
  const last = headers["last-event-id"];
  const sent = last === undefined ? headers : { ...headers, "last-event-id": eventId(last) };
  return { method: verb, path: "/mcp", headers: lists(sent), body: { encoding: "utf8", value: body }, is_base64: false };
}

const lists = (headers: Readonly<Record<string, string>>): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));

/** Event ids in a transcript: numbered from 1 within a session, in the order of their recording. */
class EventNumbers {
  readonly #sessions = new Map<string, Map<string, string>>();

  /** The number of an event id that a client sent. Unknown ids are unchanged. */
  of(session: string, id: string): string {
    return this.#sessions.get(session)?.get(id) ?? id;
  }

  /** A frame as a transcript contains it: if it carries a message, it has an event type. */
  frame(session: string, { id, event, data }: Frame): Frame {
    const sort = event ?? (data === "" ? undefined : "message");
    return {
      ...(id === undefined ? undefined : { id: this.#counted(session, id) }),
      ...(sort === undefined ? undefined : { event: sort }),
      data,
    };
  }

  #counted(session: string, id: string): string {
    const known = this.#sessions.get(session) ?? new Map<string, string>();
    this.#sessions.set(session, known);
    const counted = known.get(id) ?? String(known.size + 1);
    known.set(id, counted);
    return counted;
  }
}

/** The setup that answers reveal: the server's name and version, and its sessions in order. */
function setupSeen(answers: readonly TranscriptAnswer[]): JsonObject {
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
