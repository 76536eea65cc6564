import type { JsonObject, Clock } from "../../core/contract/index.ts";
import { PacketError } from "./packet-error.ts";
import type { TunnelConnection } from "./tunnel-connection.ts";

/** A connection for one client. */
export class Open {
  readonly principal: string | undefined;
  readonly connection: TunnelConnection;
  /** The error its implicit initialize was answered with, once it was; undefined: none. */
  readonly initialized: Promise<JsonObject | undefined>;
  /** Requests under way: it makes no room for another meanwhile. */
  uses = 0;
  /** Milliseconds since 1970. */
  usedAt: number;

  constructor(principal: string | undefined, connection: TunnelConnection, initialized: Promise<JsonObject | undefined>, now: number) {
    this.principal = principal;
    this.connection = connection;
    this.initialized = initialized;
    this.usedAt = now;
  }
}

interface Bounds {
  readonly clock: Clock;
  readonly most: number;
  readonly mostEach: number;
  readonly idleMs: number;
}

/** Connections by key, those longest not used first: bounded in number, for each principal too, and in idle time. */
export class OpenConnections {
  readonly #bounds: Bounds;
  readonly #open = new Map<string, Open>();
  #undoSweep: (() => void) | undefined;
  #closed = false;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  get(key: string): Open | undefined {
    const open = this.#open.get(key);
    if (open === undefined) return undefined;
    this.#open.delete(key);
    this.#open.set(key, open);
    open.usedAt = this.#bounds.clock.now();
    return open;
  }

  /** For one under that key, where another ends. Throws `rate_limited` where all that could make room are in use, `cancelled` once closed. */
  makeRoom(key: string, principal: string): void {
    if (this.#closed) throw new PacketError("cancelled", "The server is shutting down: send the packet again in a moment.");
    const before = this.#open.get(key);
    if (before !== undefined) return this.#end(key, before);
    const own = [...this.#open].filter(([, open]) => open.principal === principal);
    if (own.length >= this.#bounds.mostEach) this.#endOne(own);
    if (this.#open.size >= this.#bounds.most) this.#endOne([...this.#open]);
  }

  add(key: string, open: Open): void {
    this.#open.set(key, open);
    this.#undoSweep ??= this.#bounds.clock.after(this.#bounds.idleMs, () => this.#sweep());
  }

  drop(open: Open): void {
    for (const [key, one] of this.#open) if (one === open) this.#end(key, open);
  }

  /** Calls off what runs in them. Settles when it has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#undoSweep?.();
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(all.map(({ connection }) => connection.close()));
  }

  #endOne(among: readonly (readonly [string, Open])[]): void {
    const idle = among.find(([, { uses }]) => uses === 0);
    if (idle !== undefined) return this.#end(...idle);
    throw new PacketError("rate_limited", "As many MCP sessions as there may be are at work: wait for one, or use its session_id.", {
      limit: among.length,
      used: among.length,
      reset: 1,
    });
  }

  #end(key: string, { connection }: Open): void {
    this.#open.delete(key);
    void connection.close();
  }

  #sweep(): void {
    const { clock, idleMs } = this.#bounds;
    const now = clock.now();
    let next = idleMs;
    for (const [key, open] of this.#open) {
      const left = open.uses > 0 ? idleMs : open.usedAt + idleMs - now;
      if (left <= 0) this.#end(key, open);
      else next = Math.min(next, left);
    }
    this.#undoSweep = this.#open.size === 0 ? undefined : clock.after(next, () => this.#sweep());
  }
}
