/** What work says while it runs, and turns of what is answered later, on the way to the node whose caller waits: never kept. */
import type { CallOptions, Json, Log, LogLevel, Peers, Progress, Step } from "../contract/index.ts";
import { told } from "../contract/internal.ts";
import { isObject } from "./is-object.ts";

const TOPIC = "said";

export class Hearing {
  readonly #caller: (messageId: string) => CallOptions | undefined;
  readonly #fault: (error: unknown) => void;
  #peers: Pick<Peers, "self" | "on" | "ask" | "tell"> | undefined;
  #undo: (() => void) | undefined;

  /** `fault`: of a caller's own listener, which neither the work nor the telling hears of. */
  constructor(caller: (messageId: string) => CallOptions | undefined, fault: (error: unknown) => void) {
    this.#caller = caller;
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

  of(messageId: string, node: string | undefined): { readonly progress: Progress; readonly log: Log } {
    const peers = this.#peers;
    if (node === undefined || peers === undefined || node === peers.self) {
      return {
        progress: (...said) => told(() => this.#caller(messageId)?.onProgress?.(...said), this.#fault),
        log: (...said) => told(() => this.#caller(messageId)?.onLog?.(...said), this.#fault),
      };
    }
    const say = (said: Json): void => void peers.ask(node, TOPIC, said).catch(() => undefined);
    return {
      progress: (done, total, text, emitted) =>
        say({ of: messageId, progress: [done, total ?? null, text ?? null, ...(emitted === undefined ? [] : [emitted])] }),
      log: (level, data, logger) => say({ of: messageId, log: [level, data, logger ?? null] }),
    };
  }

  /** Where its caller waits is known to nobody but that node. */
  report(of: string, { done, total, text }: Step): void {
    const caller = this.#caller(of);
    if (caller === undefined) this.#peers?.tell(TOPIC, { of, progress: [done, total ?? null, text ?? null] });
    else told(() => caller.onProgress?.(done, total, text), this.#fault);
  }

  #heard(said: Json): void {
    if (!isObject(said) || typeof said["of"] !== "string") return;
    const caller = this.#caller(said["of"]);
    if (caller === undefined) return;
    const { progress, log } = said;
    if (Array.isArray(progress)) {
      const [done, total, text, emitted] = progress;
      const [of, about] = [typeof total === "number" ? total : undefined, typeof text === "string" ? text : undefined];
      if (typeof done === "number") told(() => caller.onProgress?.(done, of, about, emitted), this.#fault);
    }
    if (isLine(log)) told(() => caller.onLog?.(log[0], log[1], typeof log[2] === "string" ? log[2] : undefined), this.#fault);
  }
}

const LEVELS: ReadonlySet<unknown> = new Set(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]);

const isLine = (value: unknown): value is readonly [level: LogLevel, data: Json, logger: Json] =>
  Array.isArray(value) && LEVELS.has(value[0]) && value[1] !== undefined;
