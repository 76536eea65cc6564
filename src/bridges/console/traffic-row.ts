// Owns: one recorded message with its responses, and its shapes. Does not own: when it is recorded (traffic.ts).

import type { ActorId, Handled } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { Era, SeenClient, Transport } from "./clients.ts";
import type { Ending, MessageText } from "./message-text.ts";
import type { CausedEvent, CausingRequest, TrafficDetail, TrafficRow } from "./shapes.ts";
import type { StoredText } from "./traffic-text.ts";

/** Responses of one request that are stored: the first and the last ones matter most. */
const MOST_RESPONSES = 50;

export interface RowParts {
  readonly n: number;
  readonly at: number;
  readonly begun: number;
  readonly transport: Transport;
  readonly direction: TrafficRow["direction"];
  readonly era: Era | undefined;
  readonly client: SeenClient;
  readonly principal: string | undefined;
  readonly peer: string | undefined;
  readonly message: MessageText;
  /** Where there is no message: the HTTP verb. */
  readonly verb?: string;
  readonly request: StoredText;
  readonly headers: Readonly<Record<string, string>>;
}

/** Events of one request that are recorded. */
const MOST_EVENTS = 20;

type Response = TrafficDetail["responses"][number];

export class RecordedRow {
  readonly n: number;
  /** Of a session that begins, known at its end only. */
  client: SeenClient;
  readonly method: string;
  /** In which order rows changed. */
  stamp = 0;
  status: TrafficRow["status"];
  ms: number | undefined;
  /** Texts that its responses must not show. `unknown`: it may have some, but was too long to be read. */
  secrets: readonly string[] | "unknown" = [];
  readonly #parts: RowParts;
  #error: TrafficRow["error"];
  /** The error code that it was answered with. */
  code: string | undefined;
  #responseBytes: number | undefined;
  #responseStatus: number | undefined;
  #responseHeaders: Readonly<Record<string, string>> = {};
  readonly #responses: Response[] = [];
  /** Characters that it holds. */
  size: number;
  /** What it committed. */
  readonly events: CausedEvent[] = [];
  /** The actor that handled its call last, and the sum of the times. */
  handled: Handled | undefined;
  /** It counts as an open stream of its client. */
  isStream = false;
  /** Of its size, how much is counted. */
  held = 0;

  constructor(parts: RowParts) {
    const { n, client, message, request, headers, verb } = parts;
    this.n = n;
    this.client = client;
    this.#parts = parts;
    this.method = message.method ?? verb ?? message.kind;
    this.status = message.kind === "request" || message.kind === "batch" || verb !== undefined ? "running" : "notification";
    this.size = request.text.length + JSON.stringify(headers).length;
  }

  /** Its answer is a stream that stays open: what it carries are messages of their own. */
  get isLasting(): boolean {
    return this.method === "GET" || this.method === "subscriptions/listen";
  }

  get isRunning(): boolean {
    return this.status === "running";
  }

  get begun(): number {
    return this.#parts.begun;
  }

  get direction(): TrafficRow["direction"] {
    return this.#parts.direction;
  }

  get transport(): Transport {
    return this.#parts.transport;
  }

  get principal(): string | undefined {
    return this.#parts.principal;
  }

  get message(): MessageText {
    return this.#parts.message;
  }

  /** The id of the request, as JSON. */
  get id(): string | undefined {
    return this.#parts.message.id;
  }

  /** A message that was sent for it. */
  responded(at: number, { text, bytes, isCut }: StoredText): void {
    this.#responseBytes = (this.#responseBytes ?? 0) + bytes;
    const response = { at, text, ...(isCut && { cut: true as const }) };
    if (this.#responses.length < MOST_RESPONSES) {
      this.#responses.push(response);
      this.size += text.length;
      return;
    }
    const before = this.#responses[MOST_RESPONSES - 1];
    this.size += text.length - (before?.text.length ?? 0);
    this.#responses[MOST_RESPONSES - 1] = response;
  }

  /** False: it has as many events as are recorded. */
  committed(event: CausedEvent): boolean {
    if (this.events.length >= MOST_EVENTS) return false;
    this.events.push(event);
    this.size += event.actor.length;
    return true;
  }

  /** An actor has handled a call of it. One request may make several, such as one that begins its actor. */
  wasHandled({ actor, waitedMs, ranMs }: Handled): void {
    // A task goes on after its reply: that is no duration of the request.
    const before = this.isRunning ? this.handled : undefined;
    if (this.isRunning || this.handled === undefined)
      this.handled = { actor, waitedMs: waitedMs + (before?.waitedMs ?? 0), ranMs: ranMs + (before?.ranMs ?? 0) };
  }

  answered(status: number, headers: Readonly<Record<string, string>>): void {
    this.#responseStatus = status;
    this.#responseHeaders = headers;
    this.size += JSON.stringify(headers).length;
  }

  ended(ms: number, { status, error, code }: Ending): void {
    this.status = status;
    this.ms = ms;
    this.#error = error;
    this.code = code;
  }

  /** That its call reached. */
  get actor(): ActorId | undefined {
    return this.handled?.actor ?? this.events.at(-1)?.actor;
  }

  row(): TrafficRow {
    const { n, at, transport, era, direction, principal, peer, message, request } = this.#parts;
    const { client } = this;
    return {
      n,
      at,
      transport,
      direction,
      ...omitUndefined({ era, session: client.name === "" ? undefined : client.name, client: client.client, principal, peer }),
      method: this.method,
      ...omitUndefined({
        name: message.name,
        actor: this.actor,
        ms: this.ms,
        waitedMs: rounded(this.handled?.waitedMs),
        ranMs: rounded(this.handled?.ranMs),
      }),
      requestBytes: request.bytes,
      ...omitUndefined({ responseBytes: this.#responseBytes }),
      status: this.status,
      ...omitUndefined({ error: this.#error, code: this.code }),
      ...(this.events.length > 0 && { events: this.events }),
    };
  }

  /** In short, for what it caused. */
  get reference(): CausingRequest {
    const { n, at, principal, message } = this.#parts;
    const { client, method } = this;
    return {
      n,
      at,
      method,
      ...omitUndefined({ name: message.name, client: client.client, session: client.name === "" ? undefined : client.name, principal }),
    };
  }

  detail(): TrafficDetail {
    const { headers, request } = this.#parts;
    return {
      ...this.row(),
      requestHeaders: headers,
      request: request.text,
      ...(request.isCut && { requestCut: true as const }),
      ...omitUndefined({ responseStatus: this.#responseStatus }),
      responseHeaders: this.#responseHeaders,
      responses: this.#responses,
    };
  }

  /** `inResponses`: also if only what it was answered has the text. */
  matches(search: string, inResponses: boolean): boolean {
    const { message, request, principal } = this.#parts;
    const { client } = this;
    const texts = [
      this.method,
      message.name,
      this.actor,
      client.client,
      client.name,
      principal,
      this.#error?.message,
      this.code,
      request.text,
    ];
    const answers = inResponses ? this.#responses : [];
    return texts.some((text) => text?.toLowerCase().includes(search)) || answers.some(({ text }) => text.toLowerCase().includes(search));
  }
}

const rounded = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : Math.round(ms * 1_000) / 1_000);
