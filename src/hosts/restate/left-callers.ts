// Owns: forwarded work whose caller leaves, at whichever nodes they are: the work is aborted. Nodes notify each other, nothing is stored.
// Does not own: what a deadline ends (durable-work.ts), or what becomes of the aborted work's message (delivery.ts).
import type { Peers } from "../../core/contract/index.ts";
import { MultiMap } from "../../core/contract/internal.ts";

const TOPIC = "left";
/** The oldest are forgotten: work that begins for them later runs although no caller waits for it. */
const MAX_LEFT = 10_000;

export class LeftCallers {
  /** What aborts work, by the first call that it was forwarded for. */
  readonly #working = new MultiMap<string, () => void>();
  readonly #left = new Set<string>();
  #peers: Pick<Peers, "on" | "tell"> | undefined;
  #undo: (() => void) | undefined;

  join(peers: Pick<Peers, "on" | "tell">): void {
    this.#peers = peers;
    this.#undo = peers.on(TOPIC, (call) => {
      if (typeof call === "string") this.#abort(call);
      return null;
    });
  }

  close(): void {
    this.#undo?.();
  }

  /** The last caller at this node has left. */
  leave(call: string): void {
    this.#peers?.tell(TOPIC, call);
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
