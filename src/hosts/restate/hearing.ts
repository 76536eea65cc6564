/** What work says while it runs, and turns of what is answered later, on the way to the node whose caller waits: never kept. */
import type { CallOptions, Json, Log, LogLevel, Peers, Progress, Step } from "../../core/contract/index.ts";
import { omitUndefined, safeCall } from "../../core/contract/internal.ts";
import { isObject } from "./is-object.ts";

const TOPIC = "said";

export class Hearing {
  readonly #callers: (messageId: string) => ReadonlySet<CallOptions>;
  readonly #fault: (error: unknown) => void;
  #peers: Pick<Peers, "self" | "on" | "ask" | "tell"> | undefined;
  #undo: (() => void) | undefined;

  /** `fault`: of a caller's own listener, which neither the work nor the telling hears of. */
  constructor(callers: (messageId: string) => ReadonlySet<CallOptions>, fault: (error: unknown) => void) {
    this.#callers = callers;
    this.#fault = fault;
  }

  join(peers: Pick<Peers, "self" | "on" | "ask" | "tell">): void {
    this.#peers = peers;
    this.#undo = peers.on(TOPIC, (said) => {
      this.#heard(said);
      return null;
    });
  }

  close(): void {
    this.#undo?.();
  }

  /** `first`: the call that the message was forwarded for. No message says where its caller waits. */
  of(messageId: string, node: string | undefined, first?: string): { readonly progress: Progress; readonly log: Log } {
    if (first !== undefined)
      return {
        progress: (done, total, text) => this.report(first, { done, ...omitUndefined({ total, text }) }),
        log: (...said) => this.#tell(first, (caller) => caller.onLog?.(...said)),
      };
    const peers = this.#peers;
    if (node === undefined || peers === undefined || node === peers.self) {
      return {
        progress: (...said) => this.#tell(messageId, (caller) => caller.onProgress?.(...said)),
        log: (...said) => this.#tell(messageId, (caller) => caller.onLog?.(...said)),
      };
    }
    const say = (said: Json): void => void peers.ask(node, TOPIC, said).catch(() => undefined);
    return {
      progress: (done, total, text, emitted) =>
        say({ of: messageId, progress: [done, total ?? null, text ?? null, ...(emitted === undefined ? [] : [emitted])] }),
      log: (level, data, logger) => say({ of: messageId, log: [level, data, logger ?? null] }),
    };
  }

  /** Where callers wait for it is known to none but their nodes: who repeats a call may do so at another. */
  report(of: string, { done, total, text }: Step): void {
    this.#peers?.tell(TOPIC, { of, progress: [done, total ?? null, text ?? null] });
    this.#tell(of, (caller) => caller.onProgress?.(done, total, text));
  }

  #tell(of: string, tell: (caller: CallOptions) => unknown): void {
    for (const caller of this.#callers(of)) safeCall(() => tell(caller), this.#fault);
  }

  #heard(said: Json): void {
    if (!isObject(said)) return;
    const { of, progress, log } = said;
    if (typeof of !== "string") return;
    if (Array.isArray(progress)) {
      const [done, total, text, emitted] = progress;
      const [all, about] = [typeof total === "number" ? total : undefined, typeof text === "string" ? text : undefined];
      if (typeof done === "number") this.#tell(of, (caller) => caller.onProgress?.(done, all, about, emitted));
    }
    if (isLine(log)) this.#tell(of, (caller) => caller.onLog?.(log[0], log[1], typeof log[2] === "string" ? log[2] : undefined));
  }
}

const LEVELS: ReadonlySet<unknown> = new Set(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]);

const isLine = (value: unknown): value is readonly [level: LogLevel, data: Json, logger: Json] =>
  Array.isArray(value) && LEVELS.has(value[0]) && value[1] !== undefined;
