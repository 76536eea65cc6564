// Owns: clients' subscriptions to an actor's events and end. Does not own: reading the chain (engine/theater-chains.ts).
import type { Entropy } from "../../../core/contract/index.ts";
import type { ActorEnd, TheaterEvent, TheaterStage } from "../stage.ts";
import type { Push } from "../wire/responses.ts";
import { type Client, ClientQuota, DelayedPushes } from "./client.ts";

/** What a subscription reports. */
interface Interest {
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
  readonly #quota: ClientQuota;
  readonly #open = new Map<string, Subscription>();

  constructor(stage: TheaterStage, limit: number, entropy: Entropy) {
    this.#stage = stage;
    this.#entropy = entropy;
    this.#quota = new ClientQuota(limit, "subscriptions", "end one");
  }

  /** Throws if the client has reached its limit. */
  reserve(client: Client): void {
    this.#quota.acquire(client);
  }

  release(client: Client): void {
    this.#quota.release(client);
  }

  /** Call after `reserve`, which a failure takes back. Release the returned pushes once the client has its answer. */
  async follow(client: Client, actor: string, interest: Interest): Promise<{ readonly id: string; readonly delayed: DelayedPushes }> {
    const id = this.#entropy.uuid();
    const delayed = new DelayedPushes(client);
    let hasEnded = false;
    const listener = {
      event: (event: TheaterEvent) => {
        if (interest.events) delayed.push(() => ({ type: "ActorEvent", id: actor, event }));
      },
      ended: (end: ActorEnd) => {
        for (const push of endPushes(actor, end, interest)) delayed.push(() => push);
        // A failed actor may be restarted; one that ended reports nothing more.
        if (end.how === "error") return;
        hasEnded = true;
        this.end(id);
      },
    };
    const undo = await this.#stage.follow(actor, listener).catch((error: unknown): never => {
      this.release(client);
      throw error;
    });
    this.#open.set(id, { client, undo });
    if (hasEnded || client.disconnected.aborted) this.end(id);
    return { id, delayed };
  }

  /** Does nothing if there is no subscription of that id, since it has ended. */
  end(id: string): void {
    const subscription = this.#open.get(id);
    if (subscription === undefined) return;
    this.#open.delete(id);
    this.#quota.release(subscription.client);
    subscription.undo();
  }

  /** Ends the subscriptions of a client that has disconnected. */
  endAllOf(client: Client): void {
    for (const [id, subscription] of Array.from(this.#open)) if (subscription.client === client) this.end(id);
  }
}

function endPushes(id: string, end: ActorEnd, interest: Interest): readonly Push[] {
  const failure: readonly Push[] =
    interest.events && end.how === "error" ? [{ type: "ActorError", id, failure: { event: end.event, message: end.message } }] : [];
  return interest.end ? [...failure, { type: "ActorResult", id, end }] : failure;
}
