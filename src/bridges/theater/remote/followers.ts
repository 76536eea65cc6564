import type { TheaterEvent } from "../theater-stage.ts";
import type { Dialer } from "./dialer.ts";
import { Follower } from "./follower.ts";
import type { Settings } from "./options.ts";

/** The actors whose events are followed: the most recently used ones, up to a limit. */
export class Followers {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #take: (actor: string, event: TheaterEvent) => void;
  readonly #followers = new Map<string, Follower>();

  constructor(settings: Settings, dialer: Dialer, take: (actor: string, event: TheaterEvent) => void) {
    this.#settings = settings;
    this.#dialer = dialer;
    this.#take = take;
  }

  get full(): boolean {
    return this.#followers.size >= this.#settings.limits.followed;
  }

  /** Follows the actor and marks it as recently used. */
  touch(actor: string): void {
    const follower = this.#followers.get(actor) ?? this.create(actor);
    const isNew = !this.#followers.has(actor);
    this.#add(actor, follower);
    if (isNew) follower.start();
  }

  /** Adds a follower that already has its connection. */
  adopt(actor: string, follower: Follower): void {
    this.drop(actor);
    this.#add(actor, follower);
  }

  create(actor: string): Follower {
    return new Follower(this.#settings, this.#dialer, actor, (event) => this.#take(actor, event));
  }

  drop(actor: string): void {
    this.#followers.get(actor)?.close();
    this.#followers.delete(actor);
  }

  clear(): void {
    for (const actor of Array.from(this.#followers.keys())) this.drop(actor);
  }

  #add(actor: string, follower: Follower): void {
    this.#followers.delete(actor);
    for (const oldest of Array.from(this.#followers.keys())) {
      if (this.#followers.size < this.#settings.limits.followed) break;
      this.drop(oldest);
    }
    this.#followers.set(actor, follower);
  }
}
