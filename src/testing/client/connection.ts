// Owns: one client's connection: sessions, headers, notifications, and questions of the server. Does not own: requests (conversation.ts).
import { type Caller, isJsonObject, type Json, type JsonObject } from "../../core/contract/index.ts";
import { until } from "../simulated-clock.ts";
import { Answers, type AnswerScripts, unanswered } from "./answers.ts";
import { type Exchanging, type Frame, HttpCall, type HttpRequest } from "./http-call.ts";
import { type Notification, notificationIn, objectIn, parsed, type Question, questionIn } from "./messages.ts";

/** The era that a test client speaks: sessions (`legacy`) or stateless requests (`modern`). */
export type TestEra = "legacy" | "modern";

const REVISIONS: Readonly<Record<TestEra, string>> = { legacy: "2025-11-25", modern: "2026-07-28" };
const BOTH = "application/json, text/event-stream";

export interface ConnectionOptions {
  readonly served: Exchanging;
  readonly caller: Caller;
  readonly era: TestEra;
  readonly revision: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly answers: AnswerScripts;
  /** Called with each HTTP request. */
  readonly onCall: ((call: HttpCall) => void) | undefined;
}

/** One client's connection to a server: its headers and session, and the notifications and questions it receives. */
export class ClientConnection {
  readonly era: TestEra;
  readonly revision: string;
  readonly notifications = new Notifications();
  readonly answers: Answers;
  /** The session's id, as the server last sent it. */
  session: string | undefined;
  readonly #options: ConnectionOptions;
  readonly #calls = new Set<HttpCall>();
  #failure: Error | undefined;
  #paused = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.era = options.era;
    this.revision = options.revision ?? REVISIONS[options.era];
    this.answers = new Answers(options.answers);
  }

  /** Sends a request unchanged. */
  http(request: HttpRequest): HttpCall {
    const { served, caller, onCall } = this.#options;
    const call = new HttpCall(served, request, caller, (frame) => this.#receive(frame));
    if (this.#paused) call.frames.pause();
    this.#calls.add(call);
    onCall?.(call);
    const over = (): void => void this.#calls.delete(call);
    call.done.then(over, over);
    const storeSession = ({ headers }: { readonly headers: Readonly<Record<string, string>> }): void => {
      this.session = headers["mcp-session-id"] ?? this.session;
    };
    call.answer.then(storeSession, () => undefined);
    return call;
  }

  /** Sends a message with the headers of this era. */
  post(message: JsonObject, more: Readonly<Record<string, string>> = {}, definition?: JsonObject): HttpCall {
    const { method, params } = message;
    const repeated =
      this.era === "modern" && typeof method === "string"
        ? modernHeaders(method, isJsonObject(params) ? params : {}, definition)
        : undefined;
    const begins = method === "initialize";
    const headers = { ...this.#headers(begins), "content-type": "application/json", accept: BOTH, ...repeated, ...more };
    return this.http({ verb: "POST", headers, body: JSON.stringify(message) });
  }

  get(more: Readonly<Record<string, string>> = {}): HttpCall {
    return this.http({ verb: "GET", headers: { ...this.#headers(false), accept: "text/event-stream", ...more } });
  }

  delete(): HttpCall {
    return this.http({ verb: "DELETE", headers: this.#headers(false) });
  }

  /** Throws if a question of the server could not be answered. */
  check(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
  }

  fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
  }

  pause(paused: boolean): void {
    this.#paused = paused;
    for (const { frames } of this.#calls) {
      if (paused) frames.pause();
      else frames.unpause();
    }
  }

  leave(): void {
    for (const call of this.#calls) call.leave();
  }

  #headers(begins: boolean): Record<string, string> {
    const { headers } = this.#options;
    if (this.era === "modern") return { ...headers, "mcp-protocol-version": this.revision };
    if (begins || this.session === undefined) return { ...headers };
    return { ...headers, "mcp-session-id": this.session, "mcp-protocol-version": this.revision };
  }

  #receive({ event, data }: Frame): void {
    const message = data === "" || (event !== undefined && event !== "message") ? undefined : parsed(data);
    if (!isJsonObject(message)) return;
    const notification = notificationIn(message);
    // An acknowledgement is part of the handshake of a subscription.
    if (notification !== undefined && notification.method !== "notifications/subscriptions/acknowledged")
      this.notifications.add(notification);
    const question = questionIn(message);
    if (question !== undefined) void this.#answer(question).catch((error: unknown) => this.fail(error));
  }

  async #answer(question: Question): Promise<void> {
    const { id, method } = question;
    const result = await this.answers.answer(question);
    if (result === undefined) this.fail(new Error(unanswered(method)));
    const reply = result === undefined ? { error: { code: 1, message: "The test has no answer to that." } } : { result };
    await this.post({ jsonrpc: "2.0", id, ...reply }).done;
  }
}

const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** The headers of a modern request that repeat parts of its body. `definition`: that of the called tool, if known. */
function modernHeaders(method: string, params: JsonObject, definition: JsonObject | undefined): Record<string, string> {
  const headers: Record<string, string> = { "mcp-method": method };
  const named = Object.hasOwn(NAMED, method) ? params[NAMED[method] ?? ""] : undefined;
  if (typeof named === "string") headers["mcp-name"] = encoded(named);
  if (definition !== undefined) repeat(objectIn(definition, "inputSchema"), params["arguments"], headers);
  return headers;
}

function repeat(schema: JsonObject, value: Json | undefined, headers: Record<string, string>): void {
  const name = schema["x-mcp-header"];
  const plain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  if (typeof name === "string" && plain) headers[`mcp-param-${name.toLowerCase()}`] = encoded(String(value));
  if (!isJsonObject(value)) return;
  const properties = objectIn(schema, "properties");
  for (const [key, member] of Object.entries(properties))
    if (isJsonObject(member) && Object.hasOwn(value, key)) repeat(member, value[key], headers);
}

// Text that a header cannot contain is sent as base64, and so is text that looks like such base64.
function encoded(text: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?")) return text;
  return `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

/** The notifications that one client received, in order, on any stream. */
export class Notifications implements Iterable<Notification> {
  readonly #received: Notification[] = [];

  get all(): readonly Notification[] {
    return this.#received;
  }

  /** Their methods, in order. */
  get methods(): readonly string[] {
    return this.#received.map(({ method }) => method);
  }

  /** The first notification with that method, or for which the function returns true; waits for it. Rejects after `withinMs` of real time (default 20 s). */
  async first(wanted: string | ((one: Notification) => boolean), withinMs?: number): Promise<Notification> {
    const fits = typeof wanted === "string" ? ({ method }: Notification): boolean => method === wanted : wanted;
    try {
      await until("", () => this.#received.some(fits), withinMs);
    } catch {
      const what = typeof wanted === "string" ? wanted : "the awaited notification";
      throw new Error(`It did not come about: ${what}. What came: ${this.methods.join(", ") || "nothing"}.`);
    }
    const found = this.#received.find(fits);
    if (found === undefined) throw new Error("What was awaited has been cleared: wait for it before you clear.");
    return found;
  }

  /** Removes all notifications received so far. */
  clear(): void {
    this.#received.length = 0;
  }

  [Symbol.iterator](): Iterator<Notification> {
    return this.#received[Symbol.iterator]();
  }

  /** Printed as a list, by failed tests and `console.log`. */
  [Symbol.for("nodejs.util.inspect.custom")](): readonly Notification[] {
    return this.#received;
  }

  /** For the client. */
  add(one: Notification): void {
    this.#received.push(one);
  }
}
