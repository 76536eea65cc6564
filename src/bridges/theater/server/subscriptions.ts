import type { Entropy } from "../../../core/contract/index.ts";
import type { ActorEnd, TheaterEvent, TheaterStage } from "../theater-stage.ts";
import type { Push } from "../wire/index.ts";
import { type Client, HeldPushes } from "./client.ts";
import { Counts } from "./counts.ts";

/** What of an actor is told. */
export interface Interest {
  /** Its events, and what it fails of. */
  readonly events: boolean;
  /** Its end. */
  readonly end: boolean;
}

interface Subscription {
  readonly client: Client;
  readonly undo: () => void;
}

/** All subscriptions, by their ids: a client may subscribe on one connection and end that on another. */
export class Subscriptions {
  readonly #stage: TheaterStage;
  readonly #entropy: Entropy;
  readonly #counts: Counts;
  readonly #open = new Map<string, Subscription>();

  constructor(stage: TheaterStage, most: number, entropy: Entropy) {
    this.#stage = stage;
    this.#entropy = entropy;
    this.#counts = new Counts(most, "subscriptions", "end one");
  }

  /** Throws where the client has as many as it may. */
  reserve(client: Client): void {
    this.#counts.enter(client);
  }

  release(client: Client): void {
    this.#counts.leave(client);
  }

  /** Behind `reserve`. `announced`: to be called when the client was told; pushes follow. */
  async follow(client: Client, actor: string, interest: Interest): Promise<{ readonly id: string; readonly held: HeldPushes }> {
    const id = this.#entropy.uuid();
    const held = new HeldPushes(client);
    let over = false;
    const undo = await this.#stage.follow(actor, {
      event: (event: TheaterEvent) => {
        if (interest.events) held.push({ is: "ActorEvent", id: actor, event });
      },
      ended: (end: ActorEnd) => {
        for (const push of told(actor, end, interest)) held.push(push);
        // An actor that failed may be restarted; one that ended says no more.
        if (end.how === "error") return;
        over = true;
        this.end(id);
      },
    });
    this.#open.set(id, { client, undo });
    if (over || client.gone.aborted) this.end(id);
    return { id, held };
  }

  /** Nothing more is told. Does nothing where there is none of that id: it has ended. */
  end(id: string): void {
    const subscription = this.#open.get(id);
    if (subscription === undefined) return;
    this.#open.delete(id);
    this.#counts.leave(subscription.client);
    subscription.undo();
  }

  /** The client is gone, and its subscriptions with it. */
  leave(client: Client): void {
    for (const [id, subscription] of Array.from(this.#open)) if (subscription.client === client) this.end(id);
  }
}

function told(id: string, end: ActorEnd, interest: Interest): readonly Push[] {
  const failed: readonly Push[] =
    interest.events && end.how === "error" ? [{ is: "ActorError", id, failure: { event: end.event, message: end.message } }] : [];
  return interest.end ? [...failed, { is: "ActorResult", id, end }] : failed;
}
