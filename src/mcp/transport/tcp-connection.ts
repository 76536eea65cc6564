import type { Socket } from "node:net";
import type { Caller, Clock, Connection, Log } from "../../core/contract/index.ts";
import { hasOwn, tooManyValues, VALUE_LIMITS } from "../../core/contract/internal.ts";
import { type FaultKind, refusalText } from "../gateway/index.ts";
import { endRefused } from "./listen.ts";
import { type UploadBudget, NO_ROOM, type ReadBudget } from "./budgets.ts";
import { LineChannel, readLines, type Line } from "./lines.ts";
import { SinkWriteQueue } from "./write-queue.ts";
import type { TcpLimits, TcpOptions } from "./tcp-options.ts";
import { AUTHORIZATION_KEY, mayHoldToken, takeToken } from "./tcp-token.ts";
import type { TickBatcher } from "./pipeline.ts";

const UNKNOWN_LINE_BYTES = 65_536;
const KIND = { missing: "TOKEN", invalid: "TOKEN", scope: "SCOPE", unavailable: "UNAVAILABLE", limited: "RATE" } as const;
const TWICE = "A message has one token in one place: send it once.";

export interface TcpConnectionOptions {
  readonly socket: Socket;
  readonly door: { readonly [K in "gateway" | "auth" | "refusal" | "tokenPlace"]: TcpOptions[K] };
  /** The address tokens must be made for. */
  readonly resource: string;
  /** Who calls, as far as the address says. */
  readonly caller: Caller;
  readonly limits: TcpLimits;
  readonly uploads: UploadBudget;
  readonly unread: ReadBudget;
  readonly batch: TickBatcher<LineChannel>;
  readonly reads: TickBatcher<() => void>;
  readonly clock: Clock;
  readonly log: Log | undefined;
  readonly onEnd: () => void;
}

export interface TcpConnection {
  /** Tells the gateway that the client's side has ended; the socket closes when what runs has answered. */
  end(): void;
  destroy(): void;
}

const beginsJson = (line: Line): boolean => /^[ \t]*[{[]/.test(typeof line === "string" ? line : Buffer.from(line).toString("latin1"));

/** One client on a socket: first its token, then its messages. */
export function tcpConnection(options: TcpConnectionOptions): TcpConnection {
  const { socket, door, limits, uploads, unread, batch, reads, clock, log, onEnd } = options;
  const refusalIn = door.refusal ?? refusalText;
  const { tokenPlace = `params._meta["${AUTHORIZATION_KEY}"] of the first request` } = door;
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
      { limits, clock, onDrop: (reason) => log?.("warning", { event: "client-dropped", door: "tcp", reason }) },
    ),
    batch,
    end: () => {
      if (refused) return endRefused(socket, clock);
      socket.end();
      // A client that leaves its side open, or its last answers unread, would hold the socket.
      undo.push(clock.after(limits.blockedMs, () => void socket.destroy()));
    },
  });

  const refuse = (kind: FaultKind, message: string, id: string | number | null = null): void => {
    if (over) return;
    refused = true;
    log?.("notice", { event: "client-refused", door: "tcp", why: kind });
    stopReading();
    channel.send(refusalIn(kind, message, id));
    end();
  };

  const admit = (caller: Caller, expiresAt?: number): void => {
    connection = door.gateway.connect(channel, { ...options.caller, ...caller });
    if (expiresAt !== undefined) {
      undo.push(clock.after(expiresAt - clock.now(), () => refuse("TOKEN", "The token has expired: connect again with a fresh one.")));
    }
    for (const line of held.splice(0)) receive(line);
  };

  const checkToken = async (line: Line): Promise<void> => {
    if (door.auth === undefined) return;
    checking = true;
    const first = takeToken(line);
    if (first === undefined) return refuse("PARSE", "The first line is not a JSON-RPC request in UTF-8.");
    if (first === "twice") return refuse("PARSE", TWICE);
    const verdict = await door.auth.check(first.authorization, options.resource, options.caller.peer);
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
      return refuse("PARSE", "The first line is no JSON: speak one JSON-RPC message a line here, or use the HTTP door.");
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
    if (door.auth === undefined || !mayHoldToken(line)) return connection.receive(line);
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
  // A stranger may not make us hold as much as a caller.
  const longest = (): number => (connection === undefined ? Math.min(limits.lineBytes, UNKNOWN_LINE_BYTES) : limits.lineBytes);

  const stopReading = readLines({
    input: socket,
    channel,
    clock,
    // What comes behind a token stays in the system until that is checked.
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
    void ran.catch(() => log?.("error", { event: "close-failed", door: "tcp" })).then(() => channel.close());
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
    door.auth === undefined
      ? undefined
      : clock.after(limits.tokenMs, () => {
          if (connection === undefined)
            refuse("TOKEN", `No token came within ${limits.tokenMs} ms: send it in ${tokenPlace} ("Bearer …").`);
        });
  if (undoToken !== undefined) undo.push(undoToken);
  if (door.auth === undefined) admit(options.caller);
  watchIdle();

  const destroy = (): void => {
    channel.flush();
    socket.destroy();
  };
  return { end, destroy };
}
