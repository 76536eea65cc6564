// Owns: which messages are recorded, and how each ends. Does not own: where they pass (recorded-transports.ts), and where
// they are stored (recorded-rows.ts).

import { type Answer, type Caller, type Clock, type Exchange, type GatewayReport, isJsonObject } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { type Era, SeenClient, SeenClients } from "./clients.ts";
import {
  type Ending,
  type MessageText,
  packetOutcome,
  type PacketReply,
  readMessage,
  readOutcome,
  readPacketText,
  responseId,
} from "./message-text.ts";
import { RecentDurations } from "./recent-durations.ts";
import { CallDurations } from "./slow-calls.ts";
import { RecordedRows } from "./recorded-rows.ts";
import { RecordingRate } from "./recording-rate.ts";
import { type SecretArguments, withoutTexts } from "./secret-arguments.ts";
import { HIDDEN, storedBody, storedText, type StoredText, requestHeaders, responseHeaders } from "./traffic-text.ts";
import { RecordedRow, type RowParts } from "./traffic-row.ts";

/** Requests of one client that wait for their responses, as far as they are recorded. */
const MOST_PENDING = 1_000;
const MOST_CODES = 100;

interface TrafficOptions {
  readonly clock: Clock;
  readonly secrets: SecretArguments;
  readonly mostRows?: number;
  readonly mostSize?: number;
}

/** An error code that clients were sent. */
interface SeenCode {
  readonly code: string;
  readonly count: number;
  readonly lastAt: number;
  /** What the last client got, where that is known. */
  readonly message?: string;
}

/** Who sent a message, or whom it was sent to. */
interface Party {
  readonly principal?: string | undefined;
  readonly peer?: string | undefined;
}

type MoreParts = Partial<Pick<RowParts, "direction" | "headers" | "verb">>;

const NO_HEADERS = Object.freeze({});

export class Traffic {
  readonly clients = new SeenClients();
  readonly rows: RecordedRows;
  /** Requests of all clients. */
  readonly minute = new RecentDurations();
  readonly calls = new CallDurations();
  /** Messages that came, recorded or not. */
  received = 0;
  /** Messages that were not recorded. */
  skipped = 0;
  readonly #clock: Clock;
  readonly #secrets: SecretArguments;
  readonly #rate: RecordingRate;
  readonly #codes = new Map<string, SeenCode>();

  constructor({ clock, secrets, mostRows = 2_000, mostSize = 16 * 1_048_576 }: TrafficOptions) {
    this.#clock = clock;
    this.#secrets = secrets;
    this.#rate = new RecordingRate(clock);
    this.rows = new RecordedRows(mostRows, mostSize);
  }

  now(): number {
    return this.#clock.now();
  }

  #elapsed(): number {
    return this.#clock.elapsed?.() ?? this.#clock.now();
  }

  get codes(): Iterable<SeenCode> {
    return this.#codes.values();
  }

  /** A message has come. Whether it is recorded: others are counted. */
  #receives(bytes: number): boolean {
    this.received += 1;
    const takes = this.#rate.takes(bytes);
    if (!takes) this.skipped += 1;
    return takes;
  }

  close(): void {
    this.#rate.close();
  }

  // ── over HTTP ─────────────────────────────────────────────────────────────

  /** A request over HTTP has come. Undefined: it is not recorded. */
  request(exchange: Exchange): RecordedRow | undefined {
    const { body, verb, caller } = exchange;
    if (!this.#receives(body?.byteLength ?? 0)) return undefined;
    const request = storedText(body ?? "");
    const message: MessageText = verb === "POST" ? readMessage(request.text, request.isCut) : { kind: "request", method: verb };
    const client = this.#clientOf(exchange, message);
    const row = this.#recordFrom(caller, client, message, request, {
      headers: requestHeaders(exchange),
      ...(verb === "POST" ? undefined : { verb }),
    });
    if (message.kind === "response") this.#settleQuestion(row);
    return row;
  }

  #clientOf(exchange: Exchange, message: MessageText): SeenClient {
    const { caller } = exchange;
    const now = this.now();
    if (eraOf(exchange, message) === "modern") return this.clients.stateless(message.client, message.revision, caller, now);
    const id = exchange.header("mcp-session-id");
    const known = id === undefined ? undefined : this.clients.known(id);
    return known ?? new SeenClient("", "http", "legacy", caller, now);
  }

  /** It was answered. With `answer.open` it goes on. */
  answered(row: RecordedRow, exchange: Exchange, answer: Answer, report: GatewayReport | undefined): void {
    if (row.client.name === "") this.#identify(row, exchange, answer, report);
    row.answered(answer.status, responseHeaders(answer.headers));
    const body = answer.body === undefined ? undefined : storedBody(answer.body);
    if (body !== undefined) row.responded(this.now(), this.#cleaned(row, body));
    if (answer.open !== true) return this.#end(row, outcomeOf(answer.status, body));
    if (row.isLasting) this.#opened(row);
    this.rows.changed(row);
  }

  /** Only an answer shows that a session exists, and its begin. */
  #identify(row: RecordedRow, exchange: Exchange, { status, headers }: Answer, report: GatewayReport | undefined): void {
    const given = exchange.header("mcp-session-id");
    const id = row.method === "initialize" ? headerIn(headers, "mcp-session-id") : given;
    if (id === undefined || status >= 400) return;
    const client = this.clients.session(id, exchange.caller, this.now());
    const { message } = row;
    if (row.method === "initialize") {
      client.client = message.client;
      client.revision = message.revision;
    }
    const known = report?.session(id);
    if (known !== undefined) client.learn(known);
    row.client = client;
  }

  /** A message was sent on the stream of an HTTP response. */
  sentFor(row: RecordedRow, text: string): void {
    const isReply = row.id !== undefined && responseId(text) === row.id;
    const takes = this.#rate.takes(text.length);
    if (!isReply && row.isLasting) return takes ? this.#sentAlone(row.client, text) : this.#skip();
    const stored = storedText(text);
    if (takes) row.responded(this.now(), this.#cleaned(row, stored));
    if (isReply) this.#end(row, readOutcome(stored.text, stored.isCut));
    else this.rows.changed(row);
  }

  /** An open stream was closed by the server. */
  streamClosed(row: RecordedRow): void {
    if (row.isRunning && row.isLasting) this.#end(row, { status: "ok" });
  }

  /** The client has left. */
  streamEnded(row: RecordedRow): void {
    if (row.isRunning) this.#end(row, { status: row.isLasting ? "ok" : "cancelled" });
  }

  // ── on connections ────────────────────────────────────────────────────────

  /** A frame has come on a connection. Undefined: it is no request, or is not recorded. */
  frame(client: SeenClient, frame: Uint8Array | string, caller: Caller): RecordedRow | undefined {
    if (!this.#receives(frame.length)) return undefined;
    const request = storedText(frame);
    const message = readMessage(request.text, request.isCut);
    if (message.client !== undefined) client.client = message.client;
    if (message.revision !== undefined) {
      client.revision = message.revision;
      client.era = message.method === "initialize" ? "legacy" : "modern";
    }
    const row = this.#recordFrom(caller, client, message, request);
    if (message.kind === "response") this.#settleQuestion(row);
    else if (message.method === "notifications/cancelled") this.#cancelled(client, message);
    else if (row.isRunning) {
      this.#await(client, row.id ?? BATCH, row);
      return row;
    }
    return undefined;
  }

  /** A message was sent on a connection. */
  sent(client: SeenClient, text: string): void {
    const { pending } = client;
    // Most are responses to requests that were not recorded.
    if (pending.size === 0 && this.#rate.isOutOfRows) return;
    const id = responseId(text) ?? (text.startsWith("[") ? BATCH : undefined);
    if (id === undefined) return this.#rate.takes(text.length) ? this.#sentAlone(client, text) : this.#skip();
    const row = pending.get(id);
    if (row === undefined) return;
    pending.delete(id);
    const stored = storedText(text);
    row.responded(this.now(), this.#cleaned(row, stored));
    this.#end(row, readOutcome(stored.text, stored.isCut));
  }

  connectionEnded(client: SeenClient): void {
    for (const row of client.pending.values()) this.#end(row, { status: row.isLasting ? "ok" : "cancelled" });
    client.pending.clear();
    this.clients.ended(client);
  }

  #opened(row: RecordedRow): void {
    if (!row.isRunning) return;
    row.isStream = true;
    row.client.streams += 1;
  }

  #await({ pending }: SeenClient, id: string, row: RecordedRow): void {
    if (row.isLasting) this.#opened(row);
    pending.set(id, row);
    if (pending.size > MOST_PENDING) for (const [first] of pending) return void pending.delete(first);
  }

  #cancelled({ pending }: SeenClient, { value }: MessageText): void {
    const id = requestIdIn(value);
    const row = id === undefined ? undefined : pending.get(id);
    if (id === undefined || row === undefined) return;
    pending.delete(id);
    this.#end(row, { status: "cancelled" });
  }

  /** A notification or a request of the server. */
  #sentAlone(client: SeenClient, text: string): void {
    const request = storedText(text);
    const message = readMessage(request.text, request.isCut);
    const row = this.#record(client, client, message, request, { direction: "out" });
    if (row.isRunning) this.#await(client, `server ${row.id}`, row);
  }

  /** A client has answered a request of the server. */
  #settleQuestion(row: RecordedRow): void {
    const { pending } = row.client;
    const question = pending.get(`server ${row.id}`);
    if (question === undefined) return;
    pending.delete(`server ${row.id}`);
    const { request } = row.detail();
    question.responded(this.now(), storedText(request));
    this.#end(question, readOutcome(request, false));
  }

  // ── packets ───────────────────────────────────────────────────────────────

  /** A packet has come. Undefined: it is not recorded. */
  packet(client: SeenClient, text: Uint8Array | string, caller: Caller): RecordedRow | undefined {
    if (!this.#receives(text.length)) return undefined;
    const request = storedText(text);
    return this.#recordFrom(caller, client, readPacketText(request.text, request.isCut), request);
  }

  /** A packet was sent for it. */
  packetSent(row: RecordedRow, reply: PacketReply): void {
    row.responded(this.now(), this.#cleaned(row, storedText(JSON.stringify(reply))));
    if (reply.type === "capability_progress") this.rows.changed(row);
    else this.#end(row, packetOutcome(reply));
  }

  // ── rows ──────────────────────────────────────────────────────────────────

  #skip(): void {
    this.skipped += 1;
  }

  /** A message that came. */
  #recordFrom(caller: Caller, client: SeenClient, message: MessageText, request: StoredText, more?: MoreParts): RecordedRow {
    this.clients.called(caller, this.now());
    return this.#record(caller, client, message, request, more);
  }

  #record({ principal, peer }: Party, client: SeenClient, message: MessageText, request: StoredText, more?: MoreParts): RecordedRow {
    const { transport, era } = client;
    const at = this.now();
    const cleaned = this.#withoutSecrets({
      n: this.rows.next,
      at,
      begun: this.#elapsed(),
      transport,
      direction: "in",
      era,
      client,
      principal,
      peer,
      message,
      request,
      headers: NO_HEADERS,
      ...more,
    });
    const row = new RecordedRow(cleaned.parts);
    row.secrets = cleaned.secrets;
    client.lastAt = at;
    this.rows.add(row);
    return row;
  }

  #withoutSecrets(parts: RowParts): { readonly parts: RowParts; readonly secrets: RecordedRow["secrets"] } {
    const { message, request } = parts;
    if (message.value === undefined)
      return this.#secrets.isUnsafe(request.text, message.name)
        ? { parts: { ...parts, request: { ...request, text: HIDDEN } }, secrets: "unknown" }
        : { parts, secrets: [] };
    const cleaned = this.#secrets.clean(message.value);
    if (cleaned === undefined) {
      // A member that is there twice counts as it is read: the text may hold a secret that was not looked at.
      const text = this.#secrets.any ? JSON.stringify(message.value) : request.text;
      return { parts: { ...parts, request: { ...request, text } }, secrets: [] };
    }
    const safe = { ...request, text: JSON.stringify(cleaned.value) };
    return { parts: { ...parts, request: safe, message: { ...message, value: cleaned.value } }, secrets: cleaned.secrets };
  }

  #cleaned(row: RecordedRow, stored: StoredText): StoredText {
    return row.secrets.length === 0 ? stored : { ...stored, text: withoutSecrets(stored.text, row) };
  }

  #end(row: RecordedRow, ending: Ending): void {
    if (!row.isRunning) return this.rows.changed(row);
    const outcome = withoutSecretsIn(ending, row);
    const ms = this.#elapsed() - row.begun;
    row.ended(ms, outcome);
    if (row.isStream) row.client.streams -= 1;
    if (row.message.kind === "request" && !row.isLasting && row.direction === "in") {
      const isError = outcome.status === "error" || outcome.status === "tool-error";
      const { client, handled, method, message } = row;
      client.answered(this.now(), ms, isError, handled);
      this.minute.add(this.now(), ms, isError);
      if (method === "tools/call" && message.name !== undefined)
        this.calls.add(this.now(), client.client ?? "unknown", message.name, handled?.ranMs ?? ms);
      if (isError) this.#count(outcome);
    }
    this.rows.changed(row);
  }

  #count({ code, error, message }: Ending): void {
    const name = code ?? error?.code?.toString();
    if (name === undefined) return;
    const before = this.#codes.get(name);
    if (before === undefined && this.#codes.size >= MOST_CODES) return;
    this.#codes.set(name, {
      code: name,
      count: (before?.count ?? 0) + 1,
      lastAt: this.now(),
      ...omitUndefined({ message: error?.message ?? message }),
    });
  }
}

const withoutSecrets = (text: string, { secrets }: RecordedRow): string => (secrets === "unknown" ? HIDDEN : withoutTexts(text, secrets));

function withoutSecretsIn(ending: Ending, row: RecordedRow): Ending {
  const { error, message } = ending;
  if (row.secrets.length === 0) return ending;
  return {
    ...ending,
    ...(error && { error: { ...error, message: withoutSecrets(error.message, row) } }),
    ...(message !== undefined && { message: withoutSecrets(message, row) }),
  };
}

/** In place of an id: the responses of a batch are one. */
const BATCH = "[]";

function eraOf(exchange: Exchange, { method, revision }: MessageText): Era {
  if (method === "initialize" || exchange.header("mcp-session-id") !== undefined) return "legacy";
  // Revisions are dates: they compare as text.
  return (revision ?? exchange.header("mcp-protocol-version") ?? "") >= "2026" ? "modern" : "legacy";
}

function outcomeOf(status: number, body: StoredText | undefined): Ending {
  if (status === 499) return { status: "cancelled" };
  const outcome: Ending = body === undefined ? { status: "ok" } : readOutcome(body.text, body.isCut);
  return status >= 400 && outcome.status === "ok" ? { status: "error", error: { code: status, message: `HTTP ${status}` } } : outcome;
}

const headerIn = (headers: Answer["headers"], name: string): string | undefined =>
  Object.entries(headers ?? {}).find(([key]) => key.toLowerCase() === name)?.[1];

function requestIdIn(value: MessageText["value"]): string | undefined {
  const params = isJsonObject(value) ? value["params"] : undefined;
  const requestId = isJsonObject(params) ? params["requestId"] : undefined;
  return requestId === undefined ? undefined : JSON.stringify(requestId);
}
