import type { Push } from "../wire/index.ts";
import { StageError } from "../stage.ts";
import type { TheaterEvent } from "../theater-stage.ts";
import type { Dialer } from "./dialer.ts";
import type { Line } from "./line.ts";
import { LineError } from "./line-error.ts";
import type { Settings } from "./options.ts";
import { passed } from "./passed.ts";

/** A connection that is already subscribed. */
export interface Telling {
  readonly line: Line;
  readonly over: Promise<void>;
}

/** A connection for one actor's events, since newer servers do not say which actor a push is about. Reconnects when it breaks. */
export class Follower {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #actor: string;
  readonly #take: (event: TheaterEvent) => void;
  readonly #left = new AbortController();
  #line: Line | undefined;

  constructor(settings: Settings, dialer: Dialer, actor: string, take: (event: TheaterEvent) => void) {
    this.#settings = settings;
    this.#dialer = dialer;
    this.#actor = actor;
    this.#take = take;
  }

  start(telling?: Telling): void {
    void this.#run(telling);
  }

  close(): void {
    this.#left.abort();
    this.#line?.close();
  }

  hear(push: Push): void {
    if (push.is === "ActorEvent") this.#take(push.event);
    else if (push.is === "ActorError" && push.failure.event !== undefined) this.#take(push.failure.event);
  }

  async #run(given: Telling | undefined): Promise<void> {
    const { clock, limits, log, server } = this.#settings;
    const left = AbortSignal.any([this.#left.signal, this.#dialer.closing]);
    for (let telling = given; !left.aborted; telling = undefined) {
      try {
        telling ??= await this.#subscribe(left);
        this.#line = telling.line;
        if (left.aborted) return telling.line.close();
        await telling.over;
      } catch (error) {
        if (!(error instanceof StageError) && !(error instanceof LineError)) throw error;
        if (!left.aborted) log("info", { event: "theater-not-followed", server, actor: this.#actor });
      }
      await passed(clock, limits.pollMs, left);
    }
  }

  async #subscribe(left: AbortSignal): Promise<Telling> {
    const { promise: over, resolve: ended } = Promise.withResolvers<void>();
    const line = await this.#dialer.dial({ push: (push) => this.hear(push), ended });
    this.#line = line;
    if (!left.aborted) await line.ask({ is: "SubscribeToActor", id: this.#actor }, { limitMs: this.#settings.limits.replyMs });
    return { line, over };
  }
}
