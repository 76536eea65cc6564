// Owns: one client on a TCP or Unix socket: its token, then its messages. Does not own: the listening socket (tcp.ts), lines (lines.ts).
import type { Socket } from "node:net";
import { type Caller, type Clock, type Connection, isJsonObject, type Log } from "../../core/contract/index.ts";
import { hasOwn, tooManyValues, VALUE_LIMITS } from "../../core/contract/internal.ts";
import { type FaultKind, refusalText } from "../gateway/index.ts";
import { endRefused } from "./listen.ts";
import { type UploadBudget, NO_ROOM, type UnreadBudget } from "./budgets.ts";
import { LineChannel, readLines, type Line } from "./lines.ts";
import { SinkWriteQueue, timeToRead } from "./write-queue.ts";
import type { TcpLimits, TcpOptions } from "./tcp.ts";
import type { TickBatcher } from "./tick-batcher.ts";

const UNKNOWN_LINE_BYTES = 65_536;
const KIND = { missing: "TOKEN", invalid: "TOKEN", scope: "SCOPE", unavailable: "UNAVAILABLE", limited: "RATE" } as const;
const TWICE = "A message has one token in one place: send it once.";

export interface TcpConnectionOptions {
  readonly socket: Socket;
  readonly served: { readonly [K in "gateway" | "auth" | "refusal" | "tokenPlace"]: TcpOptions[K] };
  /** The audience of tokens. */
  readonly resource: string;
  /** The caller, as far as its address is known. */
  readonly caller: Caller;
  readonly limits: TcpLimits;
  readonly uploads: UploadBudget;
  readonly unread: UnreadBudget;
  readonly batch: TickBatcher<LineChannel>;
  readonly reads: TickBatcher<() => void>;
  readonly clock: Clock;
  readonly log: Log | undefined;
  readonly onEnd: () => void;
}

export interface TcpConnection {
  /** The client's side has ended: closes the socket once all requests have been answered. */
  end(): void;
  destroy(): void;
}

const beginsJson = (line: Line): boolean => /^[ \t]*[{[]/.test(typeof line === "string" ? line : Buffer.from(line).toString("latin1"));

/** One client on a socket: first its token, then its messages. */
export function tcpConnection(options: TcpConnectionOptions): TcpConnection {
  const { socket, served, limits, uploads, unread, batch, reads, clock, log, onEnd } = options;
  const refusalIn = served.refusal ?? refusalText;
  const { tokenPlace = `params._meta["${AUTHORIZATION_KEY}"] of the first request` } = served;
  const undo: (() => void)[] = [];
  const held: Line[] = [];
  let connection: Connection | undefined;
  let checking = false;
  let over = false;
  let refused = false;
  let begun = false;
  let undoIdle: (() => void) | undefined;

  socket.setNoDelay(true);
  socket.setKeepAlive(true, 60_000);

  const countUnread = (): void => unread.holds(socket, socket.destroyed ? 0 : socket.writableLength);

  const channel = new LineChannel({
    queue: new SinkWriteQueue(
      {
        write: (data) => {
          if (socket.writable) socket.write(data);
        },
        queued: () => socket.writableLength,
        afterwards: (run) => {
          countUnread();
          if (!socket.writable) return;
          socket.write("", () => {
            countUnread();
            run();
          });
        },
        destroy: () => void socket.destroy(),
      },
      { limits, clock, onDrop: (reason) => log?.("warning", { event: "client-dropped", transport: "tcp", reason }) },
    ),
    batch,
    end: () => {
      if (refused) return endRefused(socket, clock);
      socket.end();
      // A client that does not close its side, or does not read its last answers, would hold the socket.
      undo.push(clock.after(timeToRead(socket.writableLength, limits.blockedMs), () => void socket.destroy()));
    },
  });

  const refuse = (kind: FaultKind, message: string, id: string | number | null = null): void => {
    if (over) return;
    refused = true;
    log?.("notice", { event: "client-refused", transport: "tcp", why: kind });
    stopReading();
    channel.send(refusalIn(kind, message, id));
    end();
  };

  const admit = (caller: Caller, expiresAt?: number): void => {
    connection = served.gateway.connect(channel, { ...options.caller, ...caller });
    if (expiresAt !== undefined) {
      undo.push(clock.after(expiresAt - clock.now(), () => refuse("TOKEN", "The token has expired: connect again with a fresh one.")));
    }
    for (const line of held.splice(0)) receive(line);
  };

  const checkToken = async (line: Line): Promise<void> => {
    if (served.auth === undefined) return;
    checking = true;
    const first = takeToken(line);
    if (first === undefined) return refuse("PARSE", "The first line is not one message as JSON in UTF-8.");
    if (first === "twice") return refuse("PARSE", TWICE);
    const verdict = await served.auth.check(first.authorization, options.resource, options.caller.peer);
    undoToken?.();
    if (over) return;
    if (hasOwn(verdict, "refused")) {
      const why = verdict.refused === "missing" ? `Send a token in ${tokenPlace} ("Bearer …").` : verdict.why;
      return refuse(KIND[verdict.refused], why, first.id);
    }
    held.unshift(first.frame);
    admit(verdict.caller, verdict.expiresAt);
  };

  const receive = (line: Line): void => {
    if (over) return;
    // A web page can make a browser speak HTTP to this port: its body would be lines like any other.
    if (!begun && !beginsJson(line))
      return refuse("PARSE", "The first line is no JSON: send one message a line here, as JSON, or use HTTP.");
    begun = true;
    if (connection === undefined) {
      // What is pipelined behind the first request waits; how much is bounded by the pause below.
      if (checking) held.push(line);
      else {
        socket.pause();
        void checkToken(line)
          .catch(() => refuse("UNAVAILABLE", "The token cannot be checked now: try again."))
          .finally(() => void (over || socket.resume()));
      }
      return;
    }
    if (served.auth === undefined || !mayHoldToken(line)) return connection.receive(line);
    // Parsed here, before the gateway has looked at it.
    const excess = tooManyValues(line, VALUE_LIMITS);
    if (excess !== undefined) return channel.send(refusalIn("TOO_LARGE", `${excess}; send less at once.`, null));
    const taken = takeToken(line);
    if (taken === "twice") refuse("PARSE", TWICE);
    else connection.receive(taken?.frame ?? line);
  };

  // One timer per period instead of one per message.
  const watchIdle = (): void => {
    const before = socket.bytesRead + socket.bytesWritten;
    undoIdle = clock.after(limits.idleMs, () => {
      if (socket.bytesRead + socket.bytesWritten > before) watchIdle();
      else refuse("LATE", "Nothing happened here for too long: connect again.");
    });
  };
  // Before authentication less memory may be used.
  const longest = (): number => (connection === undefined ? Math.min(limits.lineBytes, UNKNOWN_LINE_BYTES) : limits.lineBytes);

  const stopReading = readLines({
    input: socket,
    channel,
    clock,
    // Until the token is checked, lines are not batched.
    batch: () => (connection === undefined ? undefined : reads),
    lineBytes: longest,
    lineMs: limits.lineMs,
    onLine: receive,
    onTooLong: () => refuse("TOO_LARGE", `A message may have at most ${longest()} bytes here: send less at once.`),
    begin: () => uploads.begin(options.caller.peer, (why) => refuse(...NO_ROOM[why])),
    onSlow: () => refuse("LATE", "A line was begun and did not end in time."),
    onEnd: () => end(),
  });

  function end(): void {
    if (over) return;
    over = true;
    stopReading();
    // Discarded, not left unread: unread bytes would reset the socket and lose the last answer.
    socket.resume();
    const ran = connection === undefined ? Promise.resolve() : connection.close();
    void ran.catch(() => log?.("error", { event: "close-failed", transport: "tcp" })).then(() => channel.close());
  }

  socket.on("error", () => {});
  socket.once("close", () => {
    undoIdle?.();
    for (const one of undo) one();
    countUnread();
    channel.lose();
    end();
    onEnd();
  });

  const undoToken =
    served.auth === undefined
      ? undefined
      : clock.after(limits.tokenMs, () => {
          if (connection === undefined)
            refuse("TOKEN", `No token came within ${limits.tokenMs} ms: send it in ${tokenPlace} ("Bearer …").`);
        });
  if (undoToken !== undefined) undo.push(undoToken);
  if (served.auth === undefined) admit(options.caller);
  watchIdle();

  const destroy = (): void => {
    channel.flush();
    socket.destroy();
  };
  return { end, destroy };
}

// ── tokens ──────────────────────────────────────────────────────────────────

/** The member that holds the token: of `params._meta` in a request, of `metadata` in a packet. Its value is that of the HTTP header. */
export const AUTHORIZATION_KEY = "troupe/authorization";
const KEY_BYTES = Buffer.from(AUTHORIZATION_KEY);
const PLACES = [`params\n_meta\n${AUTHORIZATION_KEY}`, `metadata\n${AUTHORIZATION_KEY}`];
const DEEPEST = 3;

interface FirstRequest {
  readonly id: string | number | null;
  readonly authorization?: string;
  /** The message without the token, otherwise exactly as the client wrote it, so that the next parser can judge it. */
  readonly frame: Line;
}

/** Removes the token from a message, so that no other code gets it. Undefined: this is not a JSON object. `twice`: a place has two tokens. */
function takeToken(line: Line): FirstRequest | "twice" | undefined {
  let message: unknown;
  let text: string;
  try {
    text = typeof line === "string" ? line : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
    if (text.startsWith("\ufeff")) text = text.slice(1);
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(message)) return undefined;
  const { id } = message;
  const named = { id: typeof id === "string" || typeof id === "number" ? id : null };
  const found = tokensIn(text);
  if (found.length === 0) return { ...named, frame: line };
  if (new Set(found.map(({ place }) => place)).size < found.length) return "twice";
  const frame = found.reduceRight(without, text);
  const [first] = found.toSorted((one, other) => one.place - other.place);
  const token: unknown = first === undefined ? undefined : JSON.parse(text.slice(first.value, first.end));
  return { ...named, ...(typeof token === "string" ? { authorization: token } : undefined), frame };
}

interface Member {
  /** Index into `PLACES`. */
  readonly place: number;
  /** Offsets: start of the name, start of the value, end of the value. */
  readonly name: number;
  readonly value: number;
  readonly end: number;
}

/** The members that hold a token, in text that is valid JSON. */
function tokensIn(text: string): readonly Member[] {
  const found: Member[] = [];
  const names: string[] = [];
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text[at];
    if (unit === "{" || unit === "[") {
      depth += 1;
      if (depth <= DEEPEST) names[depth - 1] = "";
    } else if (unit === "}" || unit === "]") depth -= 1;
    else if (unit === '"') {
      const end = endOfString(text, at);
      const colon = afterBlanks(text, end);
      if (depth <= DEEPEST && text[colon] === ":") {
        names[depth - 1] = String(JSON.parse(text.slice(at, end)));
        const place = PLACES.indexOf(names.slice(0, depth).join("\n"));
        const value = afterBlanks(text, colon + 1);
        if (place !== -1) found.push({ place, name: at, value, end: endOfValue(text, value) });
      }
      at = end - 1;
    }
  }
  return found;
}

const BLANKS = /[ \t\r\n]*/y;

function afterBlanks(text: string, at: number): number {
  BLANKS.lastIndex = at;
  BLANKS.test(text);
  return BLANKS.lastIndex;
}

/** The offset after the closing quote of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  for (; at < text.length; at += 1) {
    const unit = text[at];
    if (unit === '"') at = endOfString(text, at) - 1;
    else if (unit === "{" || unit === "[") depth += 1;
    else if (depth === 0 && (unit === "," || unit === "}" || unit === "]")) break;
    else if (unit === "}" || unit === "]") depth -= 1;
  }
  return at;
}

/** Removes a member with the comma after it, or the one before it if it is the last. */
function without(text: string, { name, end }: Member): string {
  const next = afterBlanks(text, end);
  if (text[next] === ",") return text.slice(0, name) + text.slice(next + 1);
  return text.slice(0, name).replace(/,[ \t\r\n]*$/, "") + text.slice(end);
}

/** Some clients send the same `_meta` with each request: a cheap check of whether a line has to be parsed for tokens. */
const mayHoldToken = (line: Line): boolean =>
  typeof line === "string"
    ? line.includes(AUTHORIZATION_KEY)
    : Buffer.from(line.buffer, line.byteOffset, line.byteLength).includes(KEY_BYTES);
