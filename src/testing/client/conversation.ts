import { type JsonObject, isJsonObject } from "../../core/contract/index.ts";
import { unanswered, type AnswerScripts } from "./answers.ts";
import { type HttpCall, replyOf } from "./http-call.ts";
import { objectIn, notificationIn, type TestReply, type TestRequest } from "./messages.ts";
import { RequestError, noteFaults, type ServerFault } from "./server-faults.ts";
import type { StalledCalls } from "./stalled-calls.ts";
import type { Wire, TestEra } from "./connection.ts";

const LISTS_CHANGED = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
const ROUNDS = 16;

/** What is known of the inside of a server in this process. */
export interface ServerUnderTest {
  /** Absent: a call that waits for simulated time waits in silence. */
  readonly stalled?: StalledCalls | undefined;
  /** All so far. */
  readonly faults?: readonly ServerFault[];
}

/** How requests of each era begin, carry what they must, and come to their results. */
export class Conversation {
  readonly #wire: Wire;
  readonly #info: JsonObject;
  readonly #tools = new Map<string, JsonObject>();
  #id = 0;

  readonly #server: ServerUnderTest;

  constructor(wire: Wire, info: JsonObject, server: ServerUnderTest) {
    this.#wire = wire;
    this.#info = info;
    this.#server = server;
  }

  /** The result of `initialize`, or of `server/discover`. */
  async begin(listen: boolean): Promise<JsonObject> {
    const { era, revision, answers } = this.#wire;
    if (era === "modern") {
      const found = await this.result("server/discover", {});
      if (listen) await this.listen(LISTS_CHANGED);
      return found;
    }
    const asked = { protocolVersion: revision, capabilities: answers.capabilities, clientInfo: this.#info };
    const result = await this.result("initialize", asked);
    await this.notify("notifications/initialized", {});
    // A server without standalone streams says so by its status, and that is fine.
    if (listen) await this.#wire.get().answer;
    return result;
  }

  /** Modern: settles once the server has begun to listen. */
  async listen(notifications: JsonObject): Promise<void> {
    const call = this.post({ jsonrpc: "2.0", id: (this.#id += 1), method: "subscriptions/listen", params: { notifications } });
    if (!(await call.answer).streamed) throw failure("subscriptions/listen", await replyOf(call));
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    await this.#wire.post(this.#enveloped({ jsonrpc: "2.0", method, params })).done;
  }

  /** Answers what is asked on the way. Rejects with `RequestError`. */
  async result(method: string, params: JsonObject, { key, progressToken, meta }: CallMore = {}): Promise<JsonObject> {
    const _meta = { ...objectIn(params, "_meta"), ...meta, ...(progressToken === undefined ? undefined : { progressToken }) };
    const headers = key === undefined ? undefined : { "idempotency-key": key };
    const { faults = [] } = this.#server;
    const before = faults.length;
    let sent: JsonObject = Object.keys(_meta).length === 0 ? params : { ...params, _meta };
    for (let round = 0; round < ROUNDS; round += 1) {
      const coming = replyOf(this.post({ jsonrpc: "2.0", id: (this.#id += 1), method, params: sent }, headers));
      const reply = await (this.#server.stalled?.watch(described(method, params), coming) ?? coming);
      this.#wire.check();
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
    return this.#wire.post(this.#enveloped({ ...request }), headers, definition);
  }

  /** Remembers what a tool wants repeated in headers. */
  knows(name: string, definition: JsonObject): void {
    this.#tools.set(name, definition);
  }

  /** What a modern request that asked is sent again with. */
  async #responses({ inputRequests, requestState = null }: JsonObject): Promise<JsonObject> {
    const inputResponses: Record<string, JsonObject> = {};
    for (const [name, asked] of Object.entries(isJsonObject(inputRequests) ? inputRequests : {})) {
      const question = isJsonObject(asked) ? notificationIn(asked) : undefined;
      const answer = question && (await this.#wire.answers.answer(question));
      if (answer === undefined) throw new Error(unanswered(question?.method ?? name));
      inputResponses[name] = answer;
    }
    return { inputResponses, requestState };
  }

  #enveloped(message: JsonObject): JsonObject {
    if (this.#wire.era === "legacy") return message;
    const params = objectIn(message, "params");
    const envelope = {
      "io.modelcontextprotocol/protocolVersion": this.#wire.revision,
      "io.modelcontextprotocol/clientInfo": this.#info,
      "io.modelcontextprotocol/clientCapabilities": this.#wire.answers.capabilities,
    };
    return { ...message, params: { ...params, _meta: { ...envelope, ...objectIn(params, "_meta") } } };
  }
}

/** As in `tools/call acknowledge`. */
const described = (method: string, { name, uri }: JsonObject): string =>
  [method, name, uri].filter((part) => typeof part === "string").join(" ");

function failure(method: string, { error }: TestReply, faults: readonly ServerFault[] = []): Error {
  return error === undefined ? new Error(`${method} was answered by a result that is none.`) : new RequestError(method, error, faults);
}

/** Options of a test client: who it is, and what it can do. */
export interface TestClientOptions {
  /** Default `legacy`: `initialize` and a session. `modern`: each request stands alone. */
  readonly era?: TestEra;
  /** Default: the latest of the era. */
  readonly revision?: string;
  /** Who calls, as if a token had said so. Default `tester`; null: nobody in particular. */
  readonly principal?: string | null;
  /** Default none. */
  readonly scopes?: readonly string[];
  /** Its `viewer.claims`, as the server's options would take them of a token. Default none. */
  readonly claims?: JsonObject;
  /** What it answers when the server asks. */
  readonly answers?: AnswerScripts;
  /** Whether it hears of changes: a standalone stream, or `subscriptions/listen`. Default true. */
  readonly listen?: boolean;
  /** Sent with every request; lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default `{ name: "test-client", version: "1.0.0" }`. */
  readonly info?: JsonObject;
  /** Sees each HTTP request as it leaves. */
  readonly onCall?: (call: HttpCall) => void;
}

/** What a call of the test client has beyond its arguments. */
export interface CallMore {
  /** Names the call: sent again under its name, it gets its first reply (C4). */
  readonly key?: string;
  /** Progress of the call then comes as notifications. */
  readonly progressToken?: string | number;
  /** More of the request's `_meta`. */
  readonly meta?: JsonObject;
}
