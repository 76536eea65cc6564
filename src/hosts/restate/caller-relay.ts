// Owns: messages between the node of a caller and the node of its work: progress and logs to the caller, that the caller left to the
// work. Does not own: what a deadline ends (durable-work.ts), the message of aborted work (delivery.ts).
import type { CallOptions, Json, Log, LogLevel, Peers, Progress, Step } from "../../core/contract/index.ts";
import { omitUndefined, safeCall, MultiMap } from "../../core/contract/internal.ts";
import { isObject } from "./handler-inputs.ts";

const PROGRESS_TOPIC = "said";

/** Passes progress and log lines of work, and reports of turns whose reply is deferred, to the node of the caller. Nothing is stored. */
export class ProgressRelay {
  readonly #callers: (messageId: string) => ReadonlySet<CallOptions>;
  readonly #fault: (error: unknown) => void;
  #peers: Pick<Peers, "self" | "on" | "ask" | "tell"> | undefined;
  #undo: (() => void) | undefined;

  /** `fault` receives what a caller's own listener throws. */
  constructor(callers: (messageId: string) => ReadonlySet<CallOptions>, fault: (error: unknown) => void) {
    this.#callers = callers;
    this.#fault = fault;
  }

  join(peers: Pick<Peers, "self" | "on" | "ask" | "tell">): void {
    this.#peers = peers;
    this.#undo = peers.on(PROGRESS_TOPIC, (payload) => {
      this.#onMessage(payload);
      return null;
    });
  }

  close(): void {
    this.#undo?.();
  }

  /** `first`: the call that the message was forwarded for, since a message does not name the node of its caller. */
  reportersFor(messageId: string, node: string | undefined, first?: string): { readonly progress: Progress; readonly log: Log } {
    if (first !== undefined)
      return {
        progress: (done, total, text) => this.report(first, { done, ...omitUndefined({ total, text }) }),
        log: (...payload) => this.#notify(first, (caller) => caller.onLog?.(...payload)),
      };
    const peers = this.#peers;
    if (node === undefined || peers === undefined || node === peers.self) {
      return {
        progress: (...payload) => this.#notify(messageId, (caller) => caller.onProgress?.(...payload)),
        log: (...payload) => this.#notify(messageId, (caller) => caller.onLog?.(...payload)),
      };
    }
    const send = (payload: Json): void => void peers.ask(node, PROGRESS_TOPIC, payload).catch(() => undefined);
    return {
      progress: (done, total, text, emitted) =>
        send({ of: messageId, progress: [done, total ?? null, text ?? null, ...(emitted === undefined ? [] : [emitted])] }),
      log: (level, data, logger) => send({ of: messageId, log: [level, data, logger ?? null] }),
    };
  }

  /** Only the nodes themselves know which callers wait, and a repeated call may wait at another node. So all are notified. */
  report(of: string, { done, total, text }: Step): void {
    this.#peers?.tell(PROGRESS_TOPIC, { of, progress: [done, total ?? null, text ?? null] });
    this.#notify(of, (caller) => caller.onProgress?.(done, total, text));
  }

  #notify(of: string, run: (caller: CallOptions) => unknown): void {
    for (const caller of this.#callers(of)) safeCall(() => run(caller), this.#fault);
  }

  #onMessage(payload: Json): void {
    if (!isObject(payload)) return;
    const { of, progress, log } = payload;
    if (typeof of !== "string") return;
    if (Array.isArray(progress)) {
      const [done, total, text, emitted] = progress;
      const [all, about] = [typeof total === "number" ? total : undefined, typeof text === "string" ? text : undefined];
      if (typeof done === "number") this.#notify(of, (caller) => caller.onProgress?.(done, all, about, emitted));
    }
    if (isLogLine(log)) this.#notify(of, (caller) => caller.onLog?.(log[0], log[1], typeof log[2] === "string" ? log[2] : undefined));
  }
}

const LEVELS: ReadonlySet<unknown> = new Set(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]);

const isLogLine = (value: unknown): value is readonly [level: LogLevel, data: Json, logger: Json] =>
  Array.isArray(value) && LEVELS.has(value[0]) && value[1] !== undefined;

const LEFT_TOPIC = "left";
/** The oldest are removed: work that starts for them afterwards runs although no caller waits. */
const MAX_LEFT = 10_000;

export class LeftCallers {
  /** What aborts work, by the call for which it was forwarded. */
  readonly #working = new MultiMap<string, () => void>();
  readonly #left = new Set<string>();
  #peers: Pick<Peers, "on" | "tell"> | undefined;
  #undo: (() => void) | undefined;

  join(peers: Pick<Peers, "on" | "tell">): void {
    this.#peers = peers;
    this.#undo = peers.on(LEFT_TOPIC, (call) => {
      if (typeof call === "string") this.#abort(call);
      return null;
    });
  }

  close(): void {
    this.#undo?.();
  }

  /** The last caller at this node has left. */
  leave(call: string): void {
    this.#peers?.tell(LEFT_TOPIC, call);
    this.#abort(call);
  }

  /** Work begins that was forwarded for that call. `abort` runs when its caller leaves, now if it has left. Returns its undo. */
  work(call: string, abort: () => void): () => void {
    if (this.#left.has(call)) abort();
    this.#working.put(call, abort);
    return () => this.#working.take(call, abort);
  }

  #abort(call: string): void {
    const [oldest] = this.#left;
    if (oldest !== undefined && this.#left.size >= MAX_LEFT) this.#left.delete(oldest);
    this.#left.add(call);
    for (const abort of this.#working.get(call) ?? []) abort();
  }
}
