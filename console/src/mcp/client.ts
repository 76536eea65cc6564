// Owns: an MCP client over HTTP in both eras: connecting, requests to their results, questions on the way, change notifications. The
// official client is not used here: it has no tasks in 2026-07-28, and shows neither headers nor the messages in between.
import type { JsonObject } from "../../../src/core/contract/index.ts";
import { isObject, objectIn, textIn } from "../json.ts";
import { readEvents } from "../server-events.ts";
import { wait } from "../wait.ts";
import { type Era, envelope, eraOf, type Identity, type Message, modernHeaders, parseMessage } from "./wire.ts";

/** One message as it was sent or received. */
export interface WireEntry {
  readonly at: number;
  readonly direction: "out" | "in";
  readonly message: Message;
  /** What a response answers. */
  readonly method: string;
  /** Of a request or notification that was sent; tokens are hidden. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Of a response. */
  readonly ms?: number;
}

interface ClientHooks {
  /** Every message in either direction. */
  readonly onWire: (entry: WireEntry) => void;
  readonly onNotification: (method: string, params: JsonObject) => void;
  /** The server asks the user or the client's model. A rejection refuses. */
  readonly onQuestion: (method: string, params: JsonObject) => Promise<JsonObject>;
  /** The connection is gone for good; connect again. */
  readonly onLost: (why: string) => void;
}

export interface ConnectOptions {
  readonly url: string;
  readonly revision: string;
  readonly token?: string;
  readonly info: JsonObject;
  readonly capabilities: JsonObject;
  readonly hooks: ClientHooks;
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: JsonObject) => void;
  /** Of the tool that is called. */
  readonly definition?: JsonObject;
  /** Idempotency key of the call. */
  readonly key?: string;
}

/** A refusal by the server, or by HTTP in front of it (`code` is the status then). */
export class McpError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

const MAX_ROUNDS = 16;
const RETRY_MS = [500, 1_000, 2_000, 5_000, 10_000];
const LISTS = ["tools", "resources", "prompts"];

export class McpClient {
  readonly era: Era;
  /** The result of `initialize` or `server/discover`. */
  server: JsonObject = {};
  readonly #options: ConnectOptions;
  readonly #closed = new AbortController();
  readonly #progress = new Map<number, (progress: JsonObject) => void>();
  readonly #subscribed = new Set<string>();
  #session: string | undefined;
  #revision: string;
  #logLevel: string | undefined;
  #id = 0;
  #listening: AbortController | undefined;

  private constructor(options: ConnectOptions) {
    this.#options = options;
    this.#revision = options.revision;
    this.era = eraOf(options.revision);
  }

  /** Rejects with `McpError`, or `TypeError` where there is no server. */
  static async connect(options: ConnectOptions): Promise<McpClient> {
    const client = new McpClient(options);
    if (client.era === "modern") client.server = await client.request("server/discover", {});
    else {
      const { revision: protocolVersion, capabilities, info: clientInfo } = options;
      client.server = await client.request("initialize", { protocolVersion, capabilities, clientInfo });
      client.#revision = textIn(client.server, "protocolVersion") ?? protocolVersion;
      await client.#notify("notifications/initialized", {});
    }
    void client.#listen(undefined);
    return client;
  }

  /** The revision that both agreed on. */
  get revision(): string {
    return this.#revision;
  }

  get capabilities(): JsonObject {
    return objectIn(this.server, "capabilities");
  }

  /** Answers what the server asks on the way, and returns the result. Rejects with `McpError`. */
  async request(method: string, params: JsonObject, options: RequestOptions = {}): Promise<JsonObject> {
    let sent = params;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const result = await this.#requestOnce(method, sent, options);
      if (result["resultType"] !== "input_required") return result;
      sent = { ...params, inputResponses: await this.answers(result), requestState: result["requestState"] ?? null };
    }
    throw new McpError(0, `The server asked ${MAX_ROUNDS} times in one request.`);
  }

  /** The user's answers to the questions of a modern result or task. */
  async answers({ inputRequests }: JsonObject): Promise<JsonObject> {
    const given: Record<string, JsonObject> = {};
    for (const [name, question] of Object.entries(isObject(inputRequests) ? inputRequests : {})) {
      if (!isObject(question)) continue;
      given[name] = await this.#options.hooks.onQuestion(textIn(question, "method") ?? name, objectIn(question, "params"));
    }
    return given;
  }

  /** Notifications of changes of this resource, from now on. */
  async subscribe(uri: string): Promise<void> {
    this.#subscribed.add(uri);
    await this.#subscriptionsChanged("resources/subscribe", uri);
  }

  async unsubscribe(uri: string): Promise<void> {
    this.#subscribed.delete(uri);
    await this.#subscriptionsChanged("resources/unsubscribe", uri);
  }

  async #subscriptionsChanged(method: string, uri: string): Promise<void> {
    if (this.era === "legacy") await this.request(method, { uri });
    else void this.#listen(this.#listening);
  }

  /** Undefined: no log messages. */
  async setLogLevel(level: string | undefined): Promise<void> {
    this.#logLevel = level;
    if (this.era === "legacy" && level !== undefined && "logging" in this.capabilities) await this.request("logging/setLevel", { level });
  }

  /** Ends the session. */
  close(): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    if (this.#session !== undefined)
      void fetch(this.#options.url, { method: "DELETE", headers: this.#headers("", {}, {}), keepalive: true }).catch(() => undefined);
  }

  async #requestOnce(method: string, params: JsonObject, { signal, onProgress, definition, key }: RequestOptions): Promise<JsonObject> {
    this.#id += 1;
    const id = this.#id;
    const meta = {
      ...(this.era === "modern" ? envelope(this.#identity()) : {}),
      ...objectIn(params, "_meta"),
      ...(onProgress === undefined ? {} : { progressToken: id }),
      ...(key === undefined ? {} : { "troupe/callId": key }),
    };
    const message: Message = { jsonrpc: "2.0", id, method, params: Object.keys(meta).length === 0 ? params : { ...params, _meta: meta } };
    if (onProgress !== undefined) this.#progress.set(id, onProgress);
    const cancel = (): void => {
      if (this.era === "legacy") void this.#notify("notifications/cancelled", { requestId: id, reason: "The user cancelled it." });
    };
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      const { result, error } = await this.#exchange(message, definition, signal);
      if (error !== undefined) throw new McpError(error.code, error.message, error.data);
      return result ?? {};
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.#progress.delete(id);
    }
  }

  #identity(): Identity {
    const { info, capabilities } = this.#options;
    return { revision: this.#revision, info, capabilities, logLevel: this.#logLevel };
  }

  async #notify(method: string, params: JsonObject): Promise<void> {
    await this.#post({ jsonrpc: "2.0", method, params }, undefined, this.#closed.signal);
  }

  /** The response to a request. */
  async #exchange(message: Message, definition: JsonObject | undefined, signal: AbortSignal | undefined): Promise<Message> {
    const began = performance.now();
    const response = await this.#post(
      message,
      definition,
      AbortSignal.any([this.#closed.signal, ...(signal === undefined ? [] : [signal])]),
    );
    const note = (answer: Message): Message => {
      this.#note("in", answer, message.method ?? "", { ms: performance.now() - began });
      return answer;
    };
    if (!isStream(response)) {
      const answer = parseMessage(await response.text());
      if (answer === undefined || (answer.result === undefined && answer.error === undefined)) throw refusedByHttp(response);
      return note(answer);
    }
    let lastId: string | undefined;
    for (let body = response.body; body !== null; body = await this.#resume(lastId, signal))
      for await (const { data, id } of readEvents(body)) {
        lastId = id ?? lastId;
        const incoming = parseMessage(data);
        if (incoming === undefined) continue;
        if (incoming.id === message.id && incoming.method === undefined) return note(incoming);
        this.#receive(incoming);
      }
    throw new McpError(0, "The connection ended before the answer. Whether the call was applied is not known.");
  }

  /** Sessions keep what a lost stream has not delivered. Null: nothing can be resumed. */
  async #resume(lastId: string | undefined, signal: AbortSignal | undefined): Promise<Response["body"]> {
    if (this.era === "modern" || lastId === undefined || signal?.aborted === true) return null;
    const headers = { ...this.#headers("", {}, {}), accept: "text/event-stream", "last-event-id": lastId };
    const response = await fetch(this.#options.url, { headers, signal: this.#closed.signal });
    return response.ok ? response.body : null;
  }

  async #post(message: Message, definition: JsonObject | undefined, signal: AbortSignal): Promise<Response> {
    const modern = this.era === "modern" && message.method !== undefined;
    const repeated = modern ? modernHeaders(message.method ?? "", message.params ?? {}, definition) : {};
    const headers = this.#headers(message.method ?? "", repeated, { "content-type": "application/json" });
    this.#note("out", message, message.method ?? "", { headers });
    const response = await fetch(this.#options.url, { method: "POST", headers, body: JSON.stringify(message), signal });
    if (message.method === "initialize") this.#session = response.headers.get("mcp-session-id") ?? undefined;
    if (response.status === 401 && message.method !== "initialize" && message.method !== "server/discover")
      this.#lose("The server no longer accepts this token: it has expired, or the server was started anew.");
    if (response.status === 404 && this.#session !== undefined) this.#lose("The server no longer knows this session.");
    return response;
  }

  #headers(method: string, repeated: Readonly<Record<string, string>>, more: Readonly<Record<string, string>>): Record<string, string> {
    const { token } = this.#options;
    return {
      accept: "application/json, text/event-stream",
      ...more,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(method === "initialize" ? {} : { "mcp-protocol-version": this.#revision }),
      ...(this.#session === undefined ? {} : { "mcp-session-id": this.#session }),
      ...repeated,
    };
  }

  /** Change notifications, until the client is closed. `before`: the stream that this one replaces. */
  async #listen(before: AbortController | undefined): Promise<void> {
    const stream = new AbortController();
    this.#listening = stream;
    const signal = AbortSignal.any([this.#closed.signal, stream.signal]);
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        const response = await (this.era === "modern" ? this.#openListen(signal) : this.#openGet(signal));
        if (response.status === 404 && this.era === "legacy") return this.#lose("The server no longer knows this session.");
        if (!response.ok || response.body === null || !isStream(response)) return;
        before?.abort();
        // What changed while nothing was listening is not known.
        if (failures > 0) for (const list of LISTS) this.#options.hooks.onNotification(`notifications/${list}/list_changed`, {});
        failures = 0;
        for await (const { data } of readEvents(response.body)) {
          const incoming = parseMessage(data);
          if (incoming !== undefined) this.#receive(incoming);
        }
      } catch {
        // The server is away, or the stream broke: it is opened again below.
      }
      if (!signal.aborted) await wait(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 0, signal).catch(() => undefined);
    }
  }

  #openListen(signal: AbortSignal): Promise<Response> {
    this.#id += 1;
    const notifications = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: [...this.#subscribed],
    };
    const params = { notifications, _meta: envelope(this.#identity()) };
    return this.#post({ jsonrpc: "2.0", id: this.#id, method: "subscriptions/listen", params }, undefined, signal);
  }

  #openGet(signal: AbortSignal): Promise<Response> {
    return fetch(this.#options.url, { headers: { ...this.#headers("", {}, {}), accept: "text/event-stream" }, signal });
  }

  #receive(message: Message): void {
    const { method, id, params = {} } = message;
    this.#note("in", message, method ?? "", {});
    if (method === undefined) return;
    if (id !== undefined && id !== null) return void this.#answer(id, method, params);
    const token = params["progressToken"];
    if (method === "notifications/progress" && typeof token === "number") this.#progress.get(token)?.(params);
    this.#options.hooks.onNotification(method, params);
  }

  /** A request of a server, which only sessions have. */
  async #answer(id: string | number, method: string, params: JsonObject): Promise<void> {
    let answer: Message;
    try {
      const result = method === "ping" ? {} : await this.#options.hooks.onQuestion(method, params);
      answer = { jsonrpc: "2.0", id, result };
    } catch (error) {
      answer = { jsonrpc: "2.0", id, error: { code: -32_601, message: error instanceof Error ? error.message : String(error) } };
    }
    await this.#post(answer, undefined, this.#closed.signal).catch(() => undefined);
  }

  #lose(why: string): void {
    if (this.#closed.signal.aborted) return;
    this.#session = undefined;
    this.#closed.abort();
    this.#options.hooks.onLost(why);
  }

  #note(direction: "in" | "out", message: Message, method: string, more: Pick<WireEntry, "headers" | "ms">): void {
    const { headers, ...rest } = more;
    const hidden = headers?.["authorization"] === undefined ? headers : { ...headers, authorization: "Bearer [hidden]" };
    this.#options.hooks.onWire({
      at: Date.now(),
      direction,
      message,
      method,
      ...rest,
      ...(hidden === undefined ? {} : { headers: hidden }),
    });
  }
}

const isStream = ({ headers }: Response): boolean => headers.get("content-type")?.startsWith("text/event-stream") === true;

const HTTP: Readonly<Record<number, string>> = {
  401: "The server wants a token or key for MCP: enter one under “Connect as”.",
  403: "The server refuses this page or this token (403).",
  404: "There is no MCP endpoint at this address (404).",
};

const refusedByHttp = ({ status }: Response): McpError => new McpError(status, HTTP[status] ?? `The server answered ${status}.`);
