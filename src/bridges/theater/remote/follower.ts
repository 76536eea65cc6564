import type { Push } from "../wire/index.ts";
import { StageError } from "../stage.ts";
import type { TheaterEvent } from "../theater-stage.ts";
import type { Dialer } from "./dialer.ts";
import type { Connection } from "./line.ts";
import { ConnectionError } from "./line-error.ts";
import type { Settings } from "./options.ts";
import { delay } from "./passed.ts";

/** A connection that is already subscribed. */
export interface OpenSubscription {
  readonly connection: Connection;
  readonly closed: Promise<void>;
}

/** A connection for one actor's events, since newer servers do not say which actor a push is about. Reconnects when it breaks. */
export class EventFollower {
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
    if (push.is === "ActorEvent") this.#onEvent(push.event);
    else if (push.is === "ActorError" && push.failure.event !== undefined) this.#onEvent(push.failure.event);
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
    if (!stopped.aborted) await connection.send({ is: "SubscribeToActor", id: this.#actor }, { limitMs: this.#settings.limits.replyMs });
    return { connection, closed };
  }
}
