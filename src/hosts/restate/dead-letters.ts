// Owns: listing, replaying and dropping messages that failed three times (C5). Does not own: when a message becomes one (delivery.ts).
import type { Entropy, Json, DeadLetter, Message } from "../../core/contract/index.ts";
import { asReplay, checkWholeNumber, kindOf } from "../../core/contract/internal.ts";
import { DEAD_LETTERS } from "./directory.ts";
import type { Ingress } from "./ingress.ts";
import { isMessage, type TurnInput, isObject } from "./handler-inputs.ts";
import type { MapClient, ShardedMap } from "./map-client.ts";
import type { Names } from "./names.ts";
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

  constructor(host: DeadLettersHost) {
    this.#host = host;
    this.#map = host.maps.shardedMap(DEAD_LETTERS.name, DEAD_LETTERS.shards);
  }

  async list(limit: number): Promise<readonly DeadLetter[]> {
    checkWholeNumber("limit", limit);
    return (await this.#map.list({ limit })).flatMap(([, value]) => this.#read(value));
  }

  /** False if there is no dead letter of that id. */
  async settle(messageId: string, fate: "replay" | "drop"): Promise<boolean> {
    for (let after: string | undefined; ;) {
      const entries = await this.#map.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
      const found = entries.find(([key]) => key.endsWith(` ${messageId}`));
      if (found !== undefined) {
        const [letter] = this.#read(found[1]);
        // Sent first: a crash between the two delivers it and leaves the dead letter.
        if (fate === "replay" && letter !== undefined) await this.#replay(letter.message);
        return this.#map.delete(found[0]);
      }
      if (entries.length < PAGE) return false;
      after = entries.at(-1)?.[0];
    }
  }

  async #replay(message: Message): Promise<void> {
    const { ingress, names, entropy, sealerFor } = this.#host;
    const input: TurnInput = { message: asReplay(message) };
    // Not the message's own key: the server would take it for the delivery that failed.
    const idempotencyKey = entropy.hex(16);
    await ingress.begin({ ...names.actor(message.to, "deliver"), input: sealerFor(kindOf(message.to)).seal(input), idempotencyKey });
  }

  #read(value: Json): readonly DeadLetter[] {
    return readDeadLetter(this.#host.sealerFor(""), value);
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
