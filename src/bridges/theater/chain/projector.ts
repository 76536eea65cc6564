// Owns: the projection of one of our chains to Theater's, event by event. Does not own: the events of each (actor-events.ts), pages of
// them (chain-pages.ts).
import { apply, readBody, readHeader } from "../../../core/chain/index.ts";
import { type Body, type ChainEvent, type ContentStore, type Header, isJsonObject, type Json } from "../../../core/contract/index.ts";
import { kindOf } from "../../../core/contract/internal.ts";
import { GUEST } from "../../wasm/index.ts";
import type { TheaterEvent } from "../stage.ts";
import { guestEvents, kindEvents, loadEvents, logEvent } from "./actor-events.ts";
import { link, type UnlinkedEvent } from "./link.ts";

/** Reading, printing and hashing this much takes one or two milliseconds. */
const BYTES_PER_TURN = 131_072;

/** Yields to the event loop after a certain amount of work: stores may answer without ever yielding. */
class WorkPacer {
  #done = 0;

  count(bytes: number): void {
    this.#done += bytes;
  }

  /** Settles at once after little work. */
  async yieldIfDue(): Promise<void> {
    if (this.#done < BYTES_PER_TURN) return;
    this.#done = 0;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** An actor's state after an event. Undefined if it is unknown because an earlier body was erased. */
export function stateAfter(before: Json | undefined, body: Body | undefined): Json | undefined {
  if (body === undefined) return undefined;
  if (body.state !== undefined) return body.state;
  return body.patch === undefined || before === undefined ? before : apply(before, body.patch);
}

/** The cost of an event besides its bytes, in bytes. */
const EVENT_COST = 1_024;

/**
 * Projects one actor's chain to Theater's form: each event becomes a call, the host calls it made, and its result, linked by SHA-1.
 *
 * The same events and contents always have the same hashes. As in Theater, the result of each call has the guest's state. Old states
 * may have been collected from the content store. Such a result holds null and a description that says so, and the hashes of it and of
 * all later events differ from before. Other collected contents are projected as empty.
 *
 * Long data is omitted from the start, with its digest and length in the description: a state of more than 16 KiB, a value (a
 * parameter, a host call's argument or result, a reply) of more than 64 KiB, and what exceeds 1 MiB for all values of one event.
 *
 * Yields to the event loop between its steps, however long the chain.
 */
export class Projector {
  readonly #get: ContentStore["get"];
  readonly #pacer = new WorkPacer();
  #state: Json | undefined;
  #head: Uint8Array | null = null;
  #life: string | undefined;
  #seq = 0;

  constructor(get: ContentStore["get"]) {
    this.#get = async (digest) => {
      const bytes = await get(digest);
      this.#pacer.count(bytes?.length ?? 0);
      await this.#pacer.yieldIfDue();
      return bytes;
    };
  }

  /** The hash of the last projected event; null before the first. */
  get head(): Uint8Array | null {
    return this.#head;
  }

  /** The sequence number of the last event it took from our own chain, after which to continue. 0 before the first. */
  get seq(): number {
    return this.#seq;
  }

  /**
   * Projects the next event of the chain. One call at a time, in order. If it throws because a content cannot be read, the same event is
   * the next again.
   */
  async next(event: ChainEvent): Promise<readonly TheaterEvent[]> {
    const header = readHeader(event);
    const body = readBody(event);
    const state = stateAfter(this.#state, body);
    const projected: TheaterEvent[] = [];
    let head = this.#head;
    for (const one of await this.#project(header, body, state)) {
      const linked = link(one, head, header.at);
      projected.push(linked);
      head = linked.hash;
      this.#pacer.count(linked.data.length + EVENT_COST);
      await this.#pacer.yieldIfDue();
    }
    this.#state = state;
    this.#head = head;
    this.#life = header.life;
    this.#seq = header.seq;
    return projected;
  }

  async #project(header: Header, body: Body | undefined, state: Json | undefined): Promise<readonly UnlinkedEvent[]> {
    const kind = kindOf(header.actor);
    const started = this.#life === header.life ? [] : loadEvents(header.actor, manifestId(kind, state));
    if (body === undefined) return [...started, logEvent(`${header.type} (what it held was erased)`)];
    if (header.type === "checkpoint" || header.type === "revert" || isStateEdit(header, body)) return [...started, logEvent(header.type)];
    return [...started, ...(kind === GUEST ? await guestEvents(header, body, state, this.#get) : kindEvents(kind, header, body, state))];
  }
}

/** Whether an operator edited the state. A kind may have a message of the same name, but its event does not name the head. */
function isStateEdit({ type, parent }: Header, { message }: Body): boolean {
  const args = isJsonObject(message) ? message["args"] : undefined;
  return type === "edit" && isJsonObject(args) && args["head"] === parent;
}

function manifestId(kind: string, state: Json | undefined): string {
  const named = kind === GUEST && isJsonObject(state) ? state["manifest"] : undefined;
  return typeof named === "string" ? named : `kind:${kind}`;
}

/** Projects a whole chain. */
export async function* theaterEvents(
  events: AsyncIterable<ChainEvent> | Iterable<ChainEvent>,
  get: ContentStore["get"],
): AsyncGenerator<TheaterEvent> {
  const projector = new Projector(get);
  for await (const event of events) yield* await projector.next(event);
}
