import { readBody, readHeader } from "../../../core/chain/index.ts";
import { type Body, type ChainEvent, type ContentStore, type Header, isJsonObject, type Json } from "../../../core/contract/index.ts";
import { kindOf } from "../../../core/contract/internal.ts";
import { GUEST } from "../../wasm/index.ts";
import type { TheaterEvent } from "../theater-stage.ts";
import { guestEvents } from "./guest-events.ts";
import { kindEvents } from "./kind-events.ts";
import { link, type Unlinked } from "./link.ts";
import { Pace } from "./pace.ts";
import { stateAfter } from "./told-state.ts";
import { loaded, noted } from "./wasm-events.ts";

/** What an event takes besides its bytes, as if it were bytes. */
const EVENT_COST = 1_024;

/**
 * Tells one actor's chain as Theater would: each event as a call, what the host did in it, and its result, linked by SHA-1.
 *
 * The same events and contents always have the same hashes. A guest's state is in the result of each call, as Theater has it;
 * states of events long past may have been collected from the content store: such a result holds null, its description says so,
 * and it and all after it have other hashes than they had. What a record named and is gone is told as empty.
 *
 * What is long is left out from the beginning, and the description has its digest and its length: a state of more than 16 KiB, a
 * value (a parameter, what a host call was given or gave, a reply) of more than 64 KiB, and what is kept beside one event and goes
 * beyond 1 MiB with what was told before it.
 *
 * Others have the event loop between its steps, however long the chain.
 */
export class Projector {
  readonly #get: ContentStore["get"];
  readonly #pace = new Pace();
  #state: Json | undefined;
  #head: Uint8Array | null = null;
  #life: string | undefined;
  #seq = 0;

  constructor(get: ContentStore["get"]) {
    this.#get = async (digest) => {
      const bytes = await get(digest);
      this.#pace.take(bytes?.length ?? 0);
      await this.#pace.rest();
      return bytes;
    };
  }

  /** Of the last event told; null before the first. */
  get head(): Uint8Array | null {
    return this.#head;
  }

  /** Of the last event it was given, of our own chain: whoever follows goes on behind it. 0 before the first. */
  get seq(): number {
    return this.#seq;
  }

  /**
   * What is told of the next event of the chain. One call at a time, in the chain's order. Where it throws (a content cannot be
   * read), the same event is the next again.
   */
  async next(event: ChainEvent): Promise<readonly TheaterEvent[]> {
    const header = readHeader(event);
    const body = readBody(event);
    const state = stateAfter(this.#state, body);
    const told: TheaterEvent[] = [];
    let head = this.#head;
    for (const one of await this.#tell(header, body, state)) {
      const linked = link(one, head, header.at);
      told.push(linked);
      head = linked.hash;
      this.#pace.take(linked.data.length + EVENT_COST);
      await this.#pace.rest();
    }
    this.#state = state;
    this.#head = head;
    this.#life = header.life;
    this.#seq = header.seq;
    return told;
  }

  async #tell(header: Header, body: Body | undefined, state: Json | undefined): Promise<readonly Unlinked[]> {
    const kind = kindOf(header.actor);
    const began = this.#life === header.life ? [] : loaded(header.actor, manifestOf(kind, state));
    if (body === undefined) return [...began, noted(`${header.type} (what it held was erased)`)];
    if (header.type === "checkpoint" || header.type === "revert" || isEdit(header, body)) return [...began, noted(header.type)];
    return [...began, ...(kind === GUEST ? await guestEvents(header, body, state, this.#get) : kindEvents(kind, header, body, state))];
  }
}

/** Whether an operator edited the state. A kind may have a message of that name: its event names no head. */
function isEdit({ type, parent }: Header, { message }: Body): boolean {
  const args = isJsonObject(message) ? message["args"] : undefined;
  return type === "edit" && isJsonObject(args) && args["head"] === parent;
}

function manifestOf(kind: string, state: Json | undefined): string {
  const named = kind === GUEST && isJsonObject(state) ? state["manifest"] : undefined;
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
