// Owns: the format of transcripts, and reading one. Does not own: recording (record-transcript.ts) and replaying (replay-transcript.ts).
import { isJsonObject, type Json, type JsonObject } from "../../core/contract/index.ts";
import type { Frame } from "../client/http-call.ts";
import { isJsonObjects } from "../client/messages.ts";

type Headers = Readonly<Record<string, readonly string[]>>;

/** A request in a transcript. */
export interface TranscriptRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body?: { readonly encoding: "utf8"; readonly value: string };
  readonly is_base64?: false;
}

/** One step of a transcript: a named request. */
export interface TranscriptStep {
  readonly name: string;
  readonly request: TranscriptRequest;
}

/** An answer in a transcript. It has a body, or frames, or neither if it is empty. */
export interface TranscriptAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly cookies?: readonly [];
  readonly is_base64?: false;
  readonly body_json?: Json;
  readonly sse_frames?: readonly Frame[];
}

/** A conversation over HTTP with an MCP server, in any language: what was sent, step by step, and what came back. */
export interface Transcript {
  readonly id: string;
  readonly tier: "mcp";
  readonly name: string;
  /** What a server must be to replay it. */
  readonly setup: { readonly mcp: JsonObject };
  readonly input: { readonly mcp: { readonly steps: readonly TranscriptStep[] } };
  readonly expect: { readonly mcp: { readonly steps: readonly TranscriptAnswer[] } };
}

/**
 * Reads a transcript from parsed JSON. Throws if it is not one, naming what is missing.
 *
 * @example
 * ```ts
 * import { readFile } from "node:fs/promises";
 * import { readTranscript } from "troupe/testing";
 *
 * const transcript = readTranscript(JSON.parse(await readFile("opens-the-door.json", "utf8")));
 * console.log(transcript.input.mcp.steps.length);
 * ```
 */
export function readTranscript(value: unknown): Transcript {
  if (isTranscript(value)) return value;
  throw new Error(
    "This is no transcript: it needs id, tier, name, setup.mcp, and as many input.mcp.steps (name, request) as expect.mcp.steps (status, headers).",
  );
}

function isTranscript(value: unknown): value is Transcript {
  if (!isJsonObject(value) || typeof value["id"] !== "string" || typeof value["name"] !== "string" || value["tier"] !== "mcp") return false;
  const steps = stepsIn(value["input"]);
  const answers = stepsIn(value["expect"]);
  if (!isJsonObject(value["setup"]) || !isJsonObject(value["setup"]["mcp"]) || steps?.length !== answers?.length) return false;
  return steps !== undefined && answers !== undefined && steps.every(isStep) && answers.every(isAnswer);
}

function stepsIn(part: unknown): readonly JsonObject[] | undefined {
  const mcp = isJsonObject(part) ? part["mcp"] : undefined;
  const steps = isJsonObject(mcp) ? mcp["steps"] : undefined;
  return isJsonObjects(steps) ? steps : undefined;
}

const isHeaders = (value: unknown): boolean =>
  isJsonObject(value) && Object.values(value).every((all) => Array.isArray(all) && all.every((one) => typeof one === "string"));

function isStep({ name, request }: JsonObject): boolean {
  if (typeof name !== "string" || !isJsonObject(request)) return false;
  const { method, path, headers, body } = request;
  return (
    typeof method === "string" &&
    typeof path === "string" &&
    isHeaders(headers) &&
    (body === undefined || (isJsonObject(body) && typeof body["value"] === "string" && body["encoding"] === "utf8"))
  );
}

function isAnswer({ status, headers, sse_frames: frames }: JsonObject): boolean {
  const isFrame = ({ id, event, data }: JsonObject): boolean =>
    typeof data === "string" && ["string", "undefined"].includes(typeof id) && ["string", "undefined"].includes(typeof event);
  return typeof status === "number" && isHeaders(headers) && (frames === undefined || (isJsonObjects(frames) && frames.every(isFrame)));
}
