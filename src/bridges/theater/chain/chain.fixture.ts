import { seal } from "../../../core/chain/event.ts";
import { diff, sha256 } from "../../../core/chain/index.ts";
import type { ActorId, Body, ChainEvent, Json } from "../../../core/contract/index.ts";

const LIFE = "0c7e6f1a-0000-4000-8000-00000000000a";

/** A content store in memory. */
export class Contents {
  readonly #contents = new Map<string, Uint8Array>();
  readonly get = (digest: string): Promise<Uint8Array | undefined> => Promise.resolve(this.#contents.get(digest));

  put(text: string): string {
    const digest = sha256(text);
    this.#contents.set(digest, Uint8Array.from(Buffer.from(text)));
    return digest;
  }

  drop(digest: string): void {
    this.#contents.delete(digest);
  }
}

/** Writes one actor's chain: a whole state first, then patches. */
export class Chain {
  readonly events: ChainEvent[] = [];
  readonly #actor: ActorId;
  #state: Json | undefined;
  #life = LIFE;

  constructor(actor: ActorId) {
    this.#actor = actor;
  }

  /** The next event begins another incarnation. */
  restart(): void {
    this.#life = this.#life.replace(/a$/, "b");
    this.#state = undefined;
  }

  event(type: string, args: Json, state: Json, more: Pick<Body, "reply" | "record"> = {}): void {
    const seq = this.events.length + 1;
    const before = this.#state;
    const patch = before === undefined ? undefined : diff(before, state);
    const body: Body = {
      message: { id: `m${seq}`, to: this.#actor, action: type, args, at: seq, seed: "00" },
      ...(before === undefined ? { state } : patch === undefined ? {} : { patch }),
      version: 1,
      sent: [],
      ...more,
    };
    this.#state = state;
    const parent = this.events.at(-1)?.id ?? null;
    this.events.push(seal({ actor: this.#actor, life: this.#life, seq, parent, at: 1_745_424_600_000 + seq, type }, body));
  }
}
