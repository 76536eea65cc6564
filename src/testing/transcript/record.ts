import type { Bag } from "../../contract/index.ts";
import type { TestClientOptions } from "../client/call-options.ts";
import { TestClient } from "../client/client.ts";
import type { Exchanging, HttpAnswer, HttpCall, HttpRequest } from "../client/http-call.ts";
import { isBag, parsed } from "../client/message.ts";
import { settle } from "../simulated-clock.ts";
import type { Transcript, TranscriptAnswer, TranscriptRequest } from "./transcript.ts";

export interface RecordOptions {
  /** Default: the name. */
  readonly id?: string;
  readonly name: string;
  /** Kept as it is, for whoever replays it: what the server has to be. */
  readonly setup?: Bag;
  /** Of the client that is recorded; it listens only if told to. */
  readonly client?: TestClientOptions;
}

/** What a client and a server say while that runs, request by request. A stream that is open at the end is recorded so far. */
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
  const answers = await Promise.all(calls.map(answered));
  return {
    id,
    tier: "mcp",
    name,
    setup: { mcp: setup },
    input: { mcp: { steps: calls.map(({ request }, at) => ({ name: nameOf(request, at), request: written(request) })) } },
    expect: { mcp: { steps: answers } },
  };
}

/** What came of a call, as a transcript has it. */
export async function answered({ answer, frames }: HttpCall): Promise<TranscriptAnswer> {
  const { status, headers, body, streamed }: HttpAnswer = await answer;
  const json = parsed(body);
  return {
    status,
    headers: lists(headers),
    cookies: [],
    is_base64: false,
    ...(streamed ? { sse_frames: [...frames.all] } : json === undefined ? undefined : { body_json: json }),
  };
}

function nameOf({ verb, body }: HttpRequest, at: number): string {
  const message = body === undefined ? undefined : parsed(body);
  const method = isBag(message) ? message["method"] : undefined;
  return `${at + 1}_${(typeof method === "string" ? method : verb.toLowerCase()).replaceAll("/", "_")}`;
}

function written({ verb, headers, body = "" }: HttpRequest): TranscriptRequest {
  return { method: verb, path: "/mcp", headers: lists(headers), body: { encoding: "utf8", value: body }, is_base64: false };
}

const lists = (headers: Readonly<Record<string, string>>): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
