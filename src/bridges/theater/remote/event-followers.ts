// Owns: subscriptions to actors' events, each on its own connection. Does not own: the events received (chain-cache.ts).
import { StageError, type TheaterEvent } from "../stage.ts";
import type { Push } from "../wire/responses.ts";
import type { Connection } from "./connection.ts";
import { delay, type Dialer } from "./dialer.ts";
import { ConnectionError, isNotFound } from "./errors.ts";
import type { Settings } from "./options.ts";

/** A connection that is already subscribed. */
interface OpenSubscription {
  readonly connection: Connection;
  readonly closed: Promise<void>;
}

/** What a follower reports of its actor. */
interface FollowerReport {
  event(actor: string, event: TheaterEvent): void;
  /** Events are reported from now on. Those before may have been missed. */
  subscribed(actor: string): void;
}

/** A connection for one actor's events, since newer servers do not say which actor a push is about. Reconnects when it breaks. */
class EventFollower {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #actor: string;
  readonly #report: FollowerReport;
  readonly #onMissing: () => void;
  readonly #stopped = new AbortController();
  #connection: Connection | undefined;

  /** Calls `onMissing` if the server has no such actor. */
  constructor(settings: Settings, dialer: Dialer, actor: string, report: FollowerReport, onMissing: () => void) {
    this.#settings = settings;
    this.#dialer = dialer;
    this.#actor = actor;
    this.#report = report;
    this.#onMissing = onMissing;
  }

  start(subscription?: OpenSubscription): void {
    void this.#run(subscription);
  }

  close(): void {
    this.#stopped.abort();
    this.#connection?.close();
  }

  onPush(push: Push): void {
    if (push.type === "ActorEvent") this.#report.event(this.#actor, push.event);
    else if (push.type === "ActorError" && push.failure.event !== undefined) this.#report.event(this.#actor, push.failure.event);
  }

  async #run(initial: OpenSubscription | undefined): Promise<void> {
    const { clock, limits, log, server } = this.#settings;
    const stopped = AbortSignal.any([this.#stopped.signal, this.#dialer.closing]);
    if (stopped.aborted) initial?.connection.close();
    for (let subscription = initial; !stopped.aborted; subscription = undefined) {
      try {
        subscription ??= await this.#subscribe(stopped);
        this.#connection = subscription.connection;
        if (stopped.aborted) return subscription.connection.close();
        await subscription.closed;
      } catch (error) {
        if (!(error instanceof StageError) && !(error instanceof ConnectionError)) throw error;
        if (!stopped.aborted) log("info", { event: "theater-not-followed", server, actor: this.#actor });
        if (isNotFound(error)) return this.#onMissing();
      }
      await delay(clock, limits.pollMs, stopped);
    }
  }

  async #subscribe(stopped: AbortSignal): Promise<OpenSubscription> {
    const { promise: closed, resolve: onEnded } = Promise.withResolvers<void>();
    const connection = await this.#dialer.dial({ push: (push) => this.onPush(push), ended: onEnded });
    this.#connection = connection;
    if (stopped.aborted) return { connection, closed };
    try {
      await connection.send({ type: "SubscribeToActor", id: this.#actor });
    } catch (error) {
      // A refusal leaves the connection open, and the next attempt has its own.
      connection.close();
      throw error;
    }
    this.#report.subscribed(this.#actor);
    return { connection, closed };
  }
}

/** The actors whose events are followed, up to a limit: those that are prioritized, then the most recently used ones. */
export class EventFollowers {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #report: FollowerReport;
  readonly #followers = new Map<string, EventFollower>();
  /** Actor → how often it is prioritized. */
  readonly #prioritized = new Map<string, number>();

  constructor(settings: Settings, dialer: Dialer, report: FollowerReport) {
    this.#settings = settings;
    this.#dialer = dialer;
    this.#report = report;
  }

  get isFull(): boolean {
    return this.#followers.size >= this.#settings.limits.followed;
  }

  /** Those that are to be followed before others. */
  get prioritized(): readonly string[] {
    return Array.from(this.#prioritized.keys());
  }

  isPrioritized(actor: string): boolean {
    return this.#prioritized.has(actor);
  }

  isFollowed(actor: string): boolean {
    return this.#followers.has(actor);
  }

  /** Prefers the actor to others, whenever it is followed, until the returned function is called. */
  prioritize(actor: string): () => void {
    this.#prioritized.set(actor, (this.#prioritized.get(actor) ?? 0) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const count = (this.#prioritized.get(actor) ?? 1) - 1;
      if (count > 0) this.#prioritized.set(actor, count);
      else this.#prioritized.delete(actor);
    };
  }

  /** Follows the actor and marks it as recently used, unless only prioritized ones are followed and there is no room for it. */
  follow(actor: string): void {
    const known = this.#followers.get(actor);
    const follower = known ?? this.create(actor);
    if (this.#add(actor, follower) && known === undefined) follower.start();
  }

  /** Adds a follower that already has its connection, or closes it if there is no room for it. */
  adopt(actor: string, follower: EventFollower): void {
    this.drop(actor);
    if (!this.#add(actor, follower)) follower.close();
  }

  create(actor: string): EventFollower {
    const follower: EventFollower = new EventFollower(this.#settings, this.#dialer, actor, this.#report, () => {
      if (this.#followers.get(actor) === follower) this.#followers.delete(actor);
    });
    return follower;
  }

  /** Drops those of actors that are not among these. */
  keep(actors: { has(actor: string): boolean }): void {
    for (const actor of Array.from(this.#followers.keys())) if (!actors.has(actor)) this.drop(actor);
  }

  drop(actor: string): void {
    this.#followers.get(actor)?.close();
    this.#followers.delete(actor);
  }

  clear(): void {
    for (const actor of Array.from(this.#followers.keys())) this.drop(actor);
  }

  /** False if there is no room. */
  #add(actor: string, follower: EventFollower): boolean {
    this.#followers.delete(actor);
    if (this.isFull) {
      const oldest = Array.from(this.#followers.keys()).find((one) => !this.isPrioritized(one));
      if (oldest === undefined) return false;
      this.drop(oldest);
    }
    this.#followers.set(actor, follower);
    return true;
  }
}
