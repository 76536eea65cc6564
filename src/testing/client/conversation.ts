// Owns: the requests of a test client, and its options: handshake, envelope, rounds. Does not own: HTTP (connection.ts).
import { isJsonObject, type JsonObject } from "../../core/contract/index.ts";
import { type AnswerScripts, unanswered } from "./answers.ts";
import type { ClientConnection, TestEra } from "./connection.ts";
import { type HttpCall, replyOf } from "./http-call.ts";
import { notificationIn, objectIn, type TestReply, type TestRequest } from "./messages.ts";
import { noteFaults, RequestError, type ServerFault } from "./server-faults.ts";
import type { StalledCalls } from "./stalled-calls.ts";

const LISTS_CHANGED = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
const ROUNDS = 16;

/** What a server in this process reveals of itself. */
export interface ServerUnderTest {
  /** Absent: calls that wait for simulated time are not detected. */
  readonly stalled?: StalledCalls | undefined;
  /** All faults so far. */
  readonly faults?: readonly ServerFault[];
}

/** The requests of one client: the handshake, envelope and rounds of its era, until each has its result. */
export class Conversation {
  readonly #connection: ClientConnection;
  readonly #info: JsonObject;
  readonly #tools = new Map<string, JsonObject>();
  #id = 0;

  readonly #server: ServerUnderTest;

  constructor(connection: ClientConnection, info: JsonObject, server: ServerUnderTest) {
    this.#connection = connection;
    this.#info = info;
    this.#server = server;
  }

  /** The result of `initialize`, or of `server/discover`. */
  async begin(listen: boolean): Promise<JsonObject> {
    const { era, revision, answers } = this.#connection;
    if (era === "modern") {
      const found = await this.result("server/discover", {});
      if (listen) await this.listen(LISTS_CHANGED);
      return found;
    }
    const params = { protocolVersion: revision, capabilities: answers.capabilities, clientInfo: this.#info };
    const result = await this.result("initialize", params);
    await this.notify("notifications/initialized", {});
    // A server without standalone streams answers with another status, which is not an error.
    if (listen) await this.#connection.get().answer;
    return result;
  }

  /** Opens a modern subscription. Settles when the server has accepted it. */
  async listen(notifications: JsonObject): Promise<void> {
    const call = this.post({ jsonrpc: "2.0", id: (this.#id += 1), method: "subscriptions/listen", params: { notifications } });
    if (!(await call.answer).streamed) throw failure("subscriptions/listen", await replyOf(call));
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    await this.#connection.post(this.#enveloped({ jsonrpc: "2.0", method, params })).done;
  }

  /** The result of a request. Answers the server's questions meanwhile. Rejects with `RequestError`. */
  async result(method: string, params: JsonObject, { key, progressToken, meta }: CallMore = {}): Promise<JsonObject> {
    const _meta = { ...objectIn(params, "_meta"), ...meta, ...(progressToken === undefined ? undefined : { progressToken }) };
    const headers = key === undefined ? undefined : { "idempotency-key": key };
    const { faults = [] } = this.#server;
    const before = faults.length;
    let sent: JsonObject = Object.keys(_meta).length === 0 ? params : { ...params, _meta };
    for (let round = 0; round < ROUNDS; round += 1) {
      const coming = replyOf(this.post({ jsonrpc: "2.0", id: (this.#id += 1), method, params: sent }, headers));
      const reply = await (this.#server.stalled?.watch(described(method, params), coming) ?? coming);
      this.#connection.check();
      if (reply.result === undefined) throw failure(method, reply, faults.slice(before));
      if (reply.result["isError"] === true) noteFaults(reply.result, faults.slice(before));
      if (reply.result["resultType"] !== "input_required") return reply.result;
      sent = { ...sent, ...(await this.#responses(reply.result)) };
    }
    throw new Error(`${method} asked for more ${ROUNDS} times: give an answer it takes.`);
  }

  post(request: TestRequest, headers?: Readonly<Record<string, string>>): HttpCall {
    const { name } = request.params ?? {};
    const definition = request.method === "tools/call" && typeof name === "string" ? this.#tools.get(name) : undefined;
    return this.#connection.post(this.#enveloped({ ...request }), headers, definition);
  }

  /** Stores a tool's definition, which may require arguments to be repeated in headers. */
  knows(name: string, definition: JsonObject): void {
    this.#tools.set(name, definition);
  }

  /** The answers that a modern request is sent again with. */
  async #responses({ inputRequests, requestState = null }: JsonObject): Promise<JsonObject> {
    const inputResponses: Record<string, JsonObject> = {};
    for (const [name, request] of Object.entries(isJsonObject(inputRequests) ? inputRequests : {})) {
      const question = isJsonObject(request) ? notificationIn(request) : undefined;
      const answer = question && (await this.#connection.answers.answer(question));
      if (answer === undefined) throw new Error(unanswered(question?.method ?? name));
      inputResponses[name] = answer;
    }
    return { inputResponses, requestState };
  }

  #enveloped(message: JsonObject): JsonObject {
    if (this.#connection.era === "legacy") return message;
    const params = objectIn(message, "params");
    const envelope = {
      "io.modelcontextprotocol/protocolVersion": this.#connection.revision,
      "io.modelcontextprotocol/clientInfo": this.#info,
      "io.modelcontextprotocol/clientCapabilities": this.#connection.answers.capabilities,
    };
    return { ...message, params: { ...params, _meta: { ...envelope, ...objectIn(params, "_meta") } } };
  }
}

/** For messages: `tools/call acknowledge`. */
const described = (method: string, { name, uri }: JsonObject): string =>
  [method, name, uri].filter((part) => typeof part === "string").join(" ");

function failure(method: string, { error }: TestReply, faults: readonly ServerFault[] = []): Error {
  return error === undefined ? new Error(`${method} was answered by a result that is none.`) : new RequestError(method, error, faults);
}

/** Options of a test client. */
export interface TestClientOptions {
  /** `legacy` (default): `initialize` and a session. `modern`: stateless requests. */
  readonly era?: TestEra;
  /** The protocol revision. Default: the latest of the era. */
  readonly revision?: string;
  /** The caller, as if authenticated by a token. Default `tester`; null: anonymous. */
  readonly principal?: string | null;
  /** The caller's scopes. Default none. */
  readonly scopes?: readonly string[];
  /** The caller's `viewer.claims`, as the server would take them from a token. Default none. */
  readonly claims?: JsonObject;
  /** Answers to questions of the server. */
  readonly answers?: AnswerScripts;
  /** Whether it receives notifications of changes: by a standalone stream, or `subscriptions/listen`. Default true. */
  readonly listen?: boolean;
  /** Headers of every request, with lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The client's info. Default `{ name: "test-client", version: "1.0.0" }`. */
  readonly info?: JsonObject;
  /** Called with each HTTP request. */
  readonly onCall?: (call: HttpCall) => void;
}

/** Options of a single call. */
export interface CallMore {
  /** The idempotency key: a call repeated with it gets the first reply again (C4). */
  readonly key?: string;
  /** Requests progress notifications for the call. */
  readonly progressToken?: string | number;
  /** Further members of the request's `_meta`. */
  readonly meta?: JsonObject;
}
