// Owns: listing, replaying and dropping messages that failed three times (C5). Does not own: when a message becomes one (delivery.ts).
import { faults } from "../../core/chain/internal.ts";
import { EngineError, type Entropy, type Json, type DeadLetter, type Message } from "../../core/contract/index.ts";
import { asReplay, checkWholeNumber, kindOf } from "../../core/contract/internal.ts";
import { DEAD_LETTERS } from "./directory.ts";
import type { Ingress } from "./ingress.ts";
import { isMessage, type TurnInput, isObject } from "./handler-inputs.ts";
import type { MapClient, ShardedMap } from "./map-client.ts";
import type { Names } from "./names.ts";
import { LIST_ENTRIES } from "./paged-map.ts";
import type { Sealer } from "./sealer.ts";

export interface DeadLettersHost {
  readonly ingress: Ingress;
  readonly names: Names;
  readonly maps: MapClient;
  readonly entropy: Entropy;
  readonly sealerFor: (kind: string) => Sealer;
}

/** A dead letter may be several MiB long. */
const PAGE = 8;

export class DeadLetters {
  readonly #host: DeadLettersHost;
  readonly #map: ShardedMap;
  /** For each reader, by its set of ids to leave out, which grows with its pages: the key up to which it leaves out all. */
  readonly #places = new WeakMap<ReadonlySet<string>, string>();

  constructor(host: DeadLettersHost) {
    this.#host = host;
    this.#map = host.maps.shardedMap(DEAD_LETTERS.name, DEAD_LETTERS.shards);
  }

  /**
   * Oldest first, without the ids in `except`. `damaged` gets an error for each that cannot be opened; without it, the first one is thrown.
   */
  async list(limit: number, damaged?: (error: EngineError) => void, except?: ReadonlySet<string>): Promise<readonly DeadLetter[]> {
    checkWholeNumber("limit", limit);
    const letters: DeadLetter[] = [];
    // Without it, each page would request all pages before it again, with letters of several MiB.
    let after = except && this.#places.get(except);
    let isFirst = true;
    while (letters.length < limit) {
      const size = Math.min(limit - letters.length, LIST_ENTRIES);
      const entries = await this.#map.list({ limit: size, after });
      for (const [key, value] of entries)
        try {
          const found = this.#read(value).filter(({ message }) => except?.has(message.id) !== true);
          letters.push(...found);
          isFirst &&= found.length === 0;
          if (isFirst && except !== undefined) this.#places.set(except, key);
        } catch (error) {
          // Reported with each page.
          isFirst = false;
          if (damaged === undefined || !(error instanceof EngineError)) throw error;
          damaged(error);
        }
      if (entries.length < size) break;
      after = entries.at(-1)?.[0];
    }
    return letters;
  }

  /** False if there is no dead letter of that id. One that cannot be opened can be dropped, unless it has to be `opened` for that. */
  async settle(messageId: string, fate: "replay" | "drop", opened = fate === "replay"): Promise<boolean> {
    for await (const [key, value] of this.#map.all({ page: PAGE })) {
      if (!key.endsWith(` ${messageId}`)) continue;
      const letters = opened ? this.#read(value) : [];
      // Sent first: a crash between the two delivers it and leaves the dead letter.
      if (fate === "replay") for (const { message } of letters) await this.#replay(message);
      return this.#map.delete(key);
    }
    return false;
  }

  async #replay(message: Message): Promise<void> {
    const { ingress, names, entropy, sealerFor } = this.#host;
    const input: TurnInput = { message: asReplay(message) };
    // Not the message's own key: the server would take it for the delivery that failed.
    const idempotencyKey = entropy.hex(16);
    await ingress.begin({ ...names.actor(message.to, "deliver"), input: sealerFor(kindOf(message.to)).seal(input), idempotencyKey });
  }

  #read(value: Json): readonly DeadLetter[] {
    try {
      return readDeadLetter(this.#host.sealerFor(""), value);
    } catch (error) {
      throw faults.fromStore(error);
    }
  }
}

/** Empty if something else wrote it. */
export function readDeadLetter(sealer: Pick<Sealer, "open">, value: Json): readonly DeadLetter[] {
  if (!isObject(value)) return [];
  const { message, why, at } = value;
  if (typeof why !== "string" || typeof at !== "number") return [];
  const opened = sealer.open(message);
  return isMessage(opened) ? [{ message: opened, why, at }] : [];
}
