import { type JsonObject, isJsonObject } from "../../core/contract/index.ts";
import type { TestClientOptions } from "../client/call-options.ts";
import { TestClient } from "../client/client.ts";
import type { Frame } from "../client/frames.ts";
import type { Exchanging, HttpAnswer, HttpCall, HttpRequest } from "../client/http-call.ts";
import { parsed } from "../client/message.ts";
import { settle } from "../simulated-clock.ts";
import { CountedEvents } from "./counted-events.ts";
import { setupSeen } from "./setup.ts";
import type { Transcript, TranscriptAnswer, TranscriptRequest, TranscriptStep } from "./transcript.ts";

/** Options of `recordTranscript`. */
export interface RecordOptions {
  /** Default: the name. */
  readonly id?: string;
  readonly name: string;
  /** What the server has to be, for whoever replays it. `server` (name, version) and `id_sequence` (sessions) are filled in unless given. */
  readonly setup?: JsonObject;
  /** Of the client that is recorded; it listens only if told to. */
  readonly client?: TestClientOptions;
}

/**
 * What a client and a server say while that runs, request by request. A stream that is open at the end is recorded so far.
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
  { name, id = name, setup = {}, client: how }: RecordOptions,
  run: (client: TestClient) => Promise<void>,
): Promise<Transcript> {
  const calls: HttpCall[] = [];
  const onCall = (call: HttpCall): void => {
    calls.push(call);
    how?.onCall?.(call);
  };
  await using client = new TestClient(served, { listen: false, ...how, onCall });
  await run(client);
  await settle();
  const events = new CountedEvents();
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

/** What came of a call, as a transcript has it. */
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
  const said = last === undefined ? headers : { ...headers, "last-event-id": eventId(last) };
  return { method: verb, path: "/mcp", headers: lists(said), body: { encoding: "utf8", value: body }, is_base64: false };
}

const lists = (headers: Readonly<Record<string, string>>): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
