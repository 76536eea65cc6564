import { readBody, readHeader } from "../../chain/index.ts";
import type { ChainEvent, ContentStore, Header, Json } from "../../contract/index.ts";
import { GUEST } from "../../wasm/index.ts";
import type { TheaterEvent } from "../theater-stage.ts";
import { guestEvents } from "./guest-events.ts";
import { kindEvents } from "./kind-events.ts";
import { link, type Unlinked } from "./link.ts";
import { ToldState } from "./told-state.ts";
import { isBag } from "./values.ts";
import { loaded, noted } from "./wasm-events.ts";

/**
 * Tells one actor's chain as Theater would: each event as a call, what the host did in it, and its result, linked by SHA-1.
 *
 * The same events and contents always have the same hashes. A guest's state is in the result of each call, as Theater has it;
 * states of events long past may have been collected from the content store: such a result holds null, its description says so,
 * and it and all after it have other hashes than they had. A state of more than 1 MiB is left out from the beginning.
 * What a record named and is gone is told as empty.
 */
export class Projector {
  readonly #get: ContentStore["get"];
  readonly #state = new ToldState();
  #head: Uint8Array | null = null;
  #life: string | undefined;
  #seq = 0;

  constructor(get: ContentStore["get"]) {
    this.#get = get;
  }

  /** Of the last event told; null before the first. */
  get head(): Uint8Array | null {
    return this.#head;
  }

  /** Of the last event it was given, of our own chain: whoever follows goes on behind it. 0 before the first. */
  get seq(): number {
    return this.#seq;
  }

  /** What is told of the next event of the chain. One call at a time, in the chain's order. */
  async next(event: ChainEvent): Promise<readonly TheaterEvent[]> {
    const header = readHeader(event);
    const unlinked = await this.#tell(header, event);
    this.#seq = header.seq;
    this.#life = header.life;
    return unlinked.map((one) => {
      const linked = link(one, this.#head, header.at);
      this.#head = linked.hash;
      return linked;
    });
  }

  async #tell(header: Header, event: ChainEvent): Promise<readonly Unlinked[]> {
    const body = readBody(event);
    this.#state.next(body);
    const kind = header.actor.slice(0, header.actor.indexOf("/"));
    const { state } = this.#state;
    const began = this.#life === header.life ? [] : loaded(header.actor, manifestOf(kind, state));
    if (body === undefined) return [...began, noted(`${header.type} (what it held was erased)`)];
    if (header.type === "checkpoint") return [...began, noted("checkpoint")];
    return [...began, ...(kind === GUEST ? await guestEvents(header, body, state, this.#get) : kindEvents(kind, header, body, state))];
  }
}

function manifestOf(kind: string, state: Json | undefined): string {
  const named = kind === GUEST && isBag(state) ? state["manifest"] : undefined;
  return typeof named === "string" ? named : `kind:${kind}`;
}

/** The whole of a chain, told by a `Projector`. */
export async function* theaterEvents(
  events: AsyncIterable<ChainEvent> | Iterable<ChainEvent>,
  get: ContentStore["get"],
): AsyncGenerator<TheaterEvent> {
  const projector = new Projector(get);
  for await (const event of events) yield* await projector.next(event);
}
