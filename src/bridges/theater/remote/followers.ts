import type { TheaterEvent } from "../theater-stage.ts";
import type { Dialer } from "./dialer.ts";
import { EventFollower } from "./follower.ts";
import type { Settings } from "./options.ts";

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
