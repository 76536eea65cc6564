import type { Entropy } from "../../../core/contract/index.ts";
import type { ActorEnd, TheaterEvent, TheaterStage } from "../theater-stage.ts";
import type { Push } from "../wire/index.ts";
import { type Client, HeldPushes } from "./client.ts";
import { Counts } from "./counts.ts";

/** What a subscription reports. */
export interface Interest {
  /** The actor's events and failures. */
  readonly events: boolean;
  /** The actor's end. */
  readonly end: boolean;
}

interface Subscription {
  readonly client: Client;
  readonly undo: () => void;
}

/** All subscriptions by id: a client may subscribe on one connection and unsubscribe on another. */
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

  /** Throws if the client has reached its limit. */
  reserve(client: Client): void {
    this.#counts.enter(client);
  }

  release(client: Client): void {
    this.#counts.leave(client);
  }

  /** Call after `reserve`. Release the returned pushes once the client has its answer. */
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
        // A failed actor may be restarted; one that ended reports nothing more.
        if (end.how === "error") return;
        over = true;
        this.end(id);
      },
    });
    this.#open.set(id, { client, undo });
    if (over || client.gone.aborted) this.end(id);
    return { id, held };
  }

  /** Does nothing if there is no subscription of that id, since it has ended. */
  end(id: string): void {
    const subscription = this.#open.get(id);
    if (subscription === undefined) return;
    this.#open.delete(id);
    this.#counts.leave(subscription.client);
    subscription.undo();
  }

  /** Ends the subscriptions of a client that has disconnected. */
  leave(client: Client): void {
    for (const [id, subscription] of Array.from(this.#open)) if (subscription.client === client) this.end(id);
  }
}

function told(id: string, end: ActorEnd, interest: Interest): readonly Push[] {
  const failed: readonly Push[] =
    interest.events && end.how === "error" ? [{ is: "ActorError", id, failure: { event: end.event, message: end.message } }] : [];
  return interest.end ? [...failed, { is: "ActorResult", id, end }] : failed;
}
