// Owns: requests to the console's API. Does not own: the shapes of answers (src/bridges/console/shapes.ts).
import type { Failure, ProgressShape } from "../../src/bridges/console/shapes.ts";
import type { StateMisfit } from "../../src/core/contract/index.ts";
import { noteRefused } from "./about.ts";
import { BASE } from "./base-path.ts";
import { noteNoAnswer } from "./reachability.ts";
import { readEvents, type ServerEvent } from "./server-events.ts";
import { token } from "./session.ts";

/** An answer that is not 2xx, or none at all. `code` is the API's, or `OFFLINE`. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  /** Of an edit that does not fit its state's schema: where. */
  readonly misfits: readonly StateMisfit[];

  /** Of a query in SQL that is wrong: where, as an offset. */
  readonly at: number | undefined;

  constructor(code: string, message: string, status: number, { misfits = [], at }: Pick<Failure["error"], "misfits" | "at"> = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.misfits = misfits;
    this.at = at;
  }
}

/** What was thrown, as an error that can be shown. */
export const asApiError = (thrown: unknown): ApiError =>
  thrown instanceof ApiError ? thrown : new ApiError("INTERNAL", thrown instanceof Error ? thrown.message : String(thrown), 0);

/** A query's members; those that are undefined or empty are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

const queryText = (query: Query = {}): string => {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") params.set(name, String(value));
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
};

/** `/actors/counter/main`: the parts of an id are encoded already. */
export const actorPath = (id: string): string => `/actors/${id}`;

async function request(method: string, path: string, body: unknown, signal: AbortSignal | undefined): Promise<Response> {
  const headers: Record<string, string> = { accept: method === "GET" ? "application/json, text/event-stream" : "*/*" };
  const sent = token.value;
  if (sent !== undefined) headers["authorization"] = `Bearer ${sent}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(`${BASE}/api${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    noteNoAnswer();
    throw new ApiError("OFFLINE", "The server does not answer. It may have stopped or be restarting.", 0);
  }
  if (response.ok) return response;
  // The answer to a token of before says nothing of the one that there is now.
  if (response.status === 401 && sent === token.value) noteRefused();
  const failed: unknown = await response.json().catch(() => undefined);
  throw isFailure(failed)
    ? new ApiError(failed.error.code, failed.error.message, response.status, failed.error)
    : new ApiError("HTTP", `The server answered ${response.status}.`, response.status);
}

const isFailure = (value: unknown): value is Failure =>
  typeof value === "object" && value !== null && "error" in value && typeof value.error === "object" && value.error !== null;

/** The caller names the shape: the server's tests hold each answer to it. */
export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  const response = await request("GET", path + queryText(query), undefined, signal);
  return await response.json();
}

export async function post<T>(path: string, body: object = {}, signal?: AbortSignal): Promise<T> {
  const response = await request("POST", path, body, signal);
  return await response.json();
}

/** The server-sent events of a response. Ends when the server ends the stream. Throws `ApiError`; an abort of `signal` ends it, too. */
export async function* events(
  path: string,
  {
    method = "GET",
    body,
    query,
    signal,
    opened,
  }: {
    readonly method?: "GET" | "POST";
    readonly body?: object;
    readonly query?: Query;
    readonly signal?: AbortSignal;
    readonly opened?: () => void;
  } = {},
): AsyncGenerator<ServerEvent, void, undefined> {
  const response = await request(method, path + queryText(query), body, signal);
  opened?.();
  if (response.body === null) return;
  yield* readEvents(response.body);
}

/** A long operation: reports its progress, returns what it ends with. Throws `ApiError`. */
export async function run<T>(path: string, body: object, onProgress: (progress: ProgressShape) => void, signal?: AbortSignal): Promise<T> {
  for await (const { event, data } of events(path, { method: "POST", body, ...(signal === undefined ? {} : { signal }) })) {
    if (event === "progress") onProgress(JSON.parse(data));
    if (event === "done") return JSON.parse(data);
    if (event === "failed") {
      const { error }: Failure = JSON.parse(data);
      throw new ApiError(error.code, error.message, 200);
    }
  }
  throw new ApiError("OFFLINE", "The server ended before the operation did.", 0);
}
