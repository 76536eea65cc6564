import { type JsonObject, type Caller, isJsonObject } from "../../core/contract/index.ts";
import { Answers, type AnswerScripts, unanswered } from "./answers.ts";
import type { Frame } from "./frames.ts";
import { type Exchanging, HttpCall, type HttpRequest } from "./http-call.ts";
import { notificationIn, parsed, questionIn, type Question } from "./message.ts";
import { modernHeaders } from "./modern-headers.ts";
import { Notifications } from "./notifications.ts";

/** The era that a test client speaks: sessions (`legacy`) or stateless requests (`modern`). */
export type TestEra = "legacy" | "modern";

const REVISIONS: Readonly<Record<TestEra, string>> = { legacy: "2025-11-25", modern: "2026-07-28" };
const BOTH = "application/json, text/event-stream";

export interface WireOptions {
  readonly served: Exchanging;
  readonly caller: Caller;
  readonly era: TestEra;
  readonly revision: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly answers: AnswerScripts;
  /** Sees each HTTP request as it leaves. */
  readonly onCall: ((call: HttpCall) => void) | undefined;
}

/** One client's way to a server: its headers, its session, and what reaches it unasked. */
export class Wire {
  readonly era: TestEra;
  readonly revision: string;
  readonly notifications = new Notifications();
  readonly answers: Answers;
  /** What the server gave this client last. */
  session: string | undefined;
  readonly #options: WireOptions;
  readonly #calls = new Set<HttpCall>();
  #trouble: Error | undefined;
  #paused = false;

  constructor(options: WireOptions) {
    this.#options = options;
    this.era = options.era;
    this.revision = options.revision ?? REVISIONS[options.era];
    this.answers = new Answers(options.answers);
  }

  /** A request with nothing added to it. */
  http(request: HttpRequest): HttpCall {
    const { served, caller, onCall } = this.#options;
    const call = new HttpCall(served, request, caller, (frame) => this.#heard(frame));
    if (this.#paused) call.frames.pause();
    this.#calls.add(call);
    onCall?.(call);
    const over = (): void => void this.#calls.delete(call);
    call.done.then(over, over);
    const noted = ({ headers }: { readonly headers: Readonly<Record<string, string>> }): void => {
      this.session = headers["mcp-session-id"] ?? this.session;
    };
    call.answer.then(noted, () => undefined);
    return call;
  }

  /** A message, under the headers a client of this era gives it. */
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

  /** Throws what the test left open: a question of the server without an answer. */
  check(): void {
    const trouble = this.#trouble;
    this.#trouble = undefined;
    if (trouble !== undefined) throw trouble;
  }

  fail(error: unknown): void {
    this.#trouble ??= error instanceof Error ? error : new Error(String(error));
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

  #heard({ event, data }: Frame): void {
    const message = data === "" || (event !== undefined && event !== "message") ? undefined : parsed(data);
    if (!isJsonObject(message)) return;
    const notification = notificationIn(message);
    // The handshake of a listening stream, and no news.
    if (notification !== undefined && notification.method !== "notifications/subscriptions/acknowledged")
      this.notifications.add(notification);
    const question = questionIn(message);
    if (question !== undefined) void this.#answer(question).catch((error: unknown) => this.fail(error));
  }

  async #answer(question: Question): Promise<void> {
    const { id, method } = question;
    const result = await this.answers.answer(question);
    if (result === undefined) this.fail(new Error(unanswered(method)));
    const said = result === undefined ? { error: { code: 1, message: "The test has no answer to that." } } : { result };
    await this.post({ jsonrpc: "2.0", id, ...said }).done;
  }
}
