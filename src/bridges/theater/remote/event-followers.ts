// Owns: subscriptions to actors' events, each on its own connection. Does not own: the events received (chain-cache.ts).
import { StageError, type TheaterEvent } from "../stage.ts";
import type { Push } from "../wire/responses.ts";
import type { Connection } from "./connection.ts";
import { delay, type Dialer } from "./dialer.ts";
import { ConnectionError } from "./errors.ts";
import type { Settings } from "./options.ts";

/** A connection that is already subscribed. */
interface OpenSubscription {
  readonly connection: Connection;
  readonly closed: Promise<void>;
}

/** A connection for one actor's events, since newer servers do not say which actor a push is about. Reconnects when it breaks. */
class EventFollower {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #actor: string;
  readonly #onEvent: (event: TheaterEvent) => void;
  readonly #stopped = new AbortController();
  #connection: Connection | undefined;

  constructor(settings: Settings, dialer: Dialer, actor: string, onEvent: (event: TheaterEvent) => void) {
    this.#settings = settings;
    this.#dialer = dialer;
    this.#actor = actor;
    this.#onEvent = onEvent;
  }

  start(subscription?: OpenSubscription): void {
    void this.#run(subscription);
  }

  close(): void {
    this.#stopped.abort();
    this.#connection?.close();
  }

  onPush(push: Push): void {
    if (push.type === "ActorEvent") this.#onEvent(push.event);
    else if (push.type === "ActorError" && push.failure.event !== undefined) this.#onEvent(push.failure.event);
  }

  async #run(initial: OpenSubscription | undefined): Promise<void> {
    const { clock, limits, log, server } = this.#settings;
    const stopped = AbortSignal.any([this.#stopped.signal, this.#dialer.closing]);
    for (let subscription = initial; !stopped.aborted; subscription = undefined) {
      try {
        subscription ??= await this.#subscribe(stopped);
        this.#connection = subscription.connection;
        if (stopped.aborted) return subscription.connection.close();
        await subscription.closed;
      } catch (error) {
        if (!(error instanceof StageError) && !(error instanceof ConnectionError)) throw error;
        if (!stopped.aborted) log("info", { event: "theater-not-followed", server, actor: this.#actor });
      }
      await delay(clock, limits.pollMs, stopped);
    }
  }

  async #subscribe(stopped: AbortSignal): Promise<OpenSubscription> {
    const { promise: closed, resolve: onEnded } = Promise.withResolvers<void>();
    const connection = await this.#dialer.dial({ push: (push) => this.onPush(push), ended: onEnded });
    this.#connection = connection;
    if (!stopped.aborted) await connection.send({ type: "SubscribeToActor", id: this.#actor }, { limitMs: this.#settings.limits.replyMs });
    return { connection, closed };
  }
}

/** The actors whose events are followed: the most recently used ones, up to a limit. */
export class EventFollowers {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #onEvent: (actor: string, event: TheaterEvent) => void;
  readonly #followers = new Map<string, EventFollower>();

  constructor(settings: Settings, dialer: Dialer, onEvent: (actor: string, event: TheaterEvent) => void) {
    this.#settings = settings;
    this.#dialer = dialer;
    this.#onEvent = onEvent;
  }

  get isFull(): boolean {
    return this.#followers.size >= this.#settings.limits.followed;
  }

  /** Follows the actor and marks it as recently used. */
  follow(actor: string): void {
    const follower = this.#followers.get(actor) ?? this.create(actor);
    const isNew = !this.#followers.has(actor);
    this.#add(actor, follower);
    if (isNew) follower.start();
  }

  /** Adds a follower that already has its connection. */
  adopt(actor: string, follower: EventFollower): void {
    this.drop(actor);
    this.#add(actor, follower);
  }

  create(actor: string): EventFollower {
    return new EventFollower(this.#settings, this.#dialer, actor, (event) => this.#onEvent(actor, event));
  }

  drop(actor: string): void {
    this.#followers.get(actor)?.close();
    this.#followers.delete(actor);
  }

  clear(): void {
    for (const actor of Array.from(this.#followers.keys())) this.drop(actor);
  }

  #add(actor: string, follower: EventFollower): void {
    this.#followers.delete(actor);
    for (const oldest of Array.from(this.#followers.keys())) {
      if (this.#followers.size < this.#settings.limits.followed) break;
      this.drop(oldest);
    }
    this.#followers.set(actor, follower);
  }
}
