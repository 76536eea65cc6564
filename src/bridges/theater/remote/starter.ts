import { StageError, type StageStart } from "../stage.ts";
import type { Push } from "../wire/index.ts";
import type { Dialer } from "./dialer.ts";
import type { EventFollowers } from "./followers.ts";
import type { Settings } from "./options.ts";
import { Semaphore } from "./permits.ts";
import { toStageError } from "./refusals.ts";

/** Starts actors, each on a connection of its own, where servers push an actor's events from its first on. */
export class ActorStarter {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #followers: EventFollowers;
  readonly #slots: Semaphore;

  constructor(settings: Settings, dialer: Dialer, followers: EventFollowers) {
    this.#settings = settings;
    this.#dialer = dialer;
    this.#followers = followers;
    this.#slots = new Semaphore(settings.limits.connections, settings.limits.waiting, settings.clock);
  }

  /** Returns the actor's id. `follow`: its events are wanted. Throws `StageError`. */
  async start({ manifest, initialState, component, name }: StageStart, follow: boolean): Promise<string> {
    const { limits, server } = this.#settings;
    if (component !== undefined) {
      const sentence = `A component cannot be sent to ${server}: put it where the server can read it, and name that place in the manifest.`;
      throw new StageError("InvalidRequest", sentence);
    }
    if (name !== undefined) {
      throw new StageError("InvalidRequest", `No name can be given to ${server}: leave \`name\` away, and keep the id it answers.`);
    }
    if (!(await this.#slots.acquire(limits.replyMs))) {
      throw new StageError("Timeout", `Too many actors are being started at ${server}: wait for them, then try again.`);
    }
    try {
      return await this.#start(manifest, initialState, follow);
    } finally {
      this.#slots.release();
    }
  }

  async #start(manifest: string, initialState: Uint8Array | undefined, follow: boolean): Promise<string> {
    const buffered: Push[] = [];
    let onPush = (push: Push): void => void (buffered.length < this.#settings.limits.events && buffered.push(push));
    const { promise: closed, resolve: ended } = Promise.withResolvers<void>();
    const connection = await this.#dialer.dial({ push: (push) => onPush(push), ended });
    // The newer codec implies the `subscribe` field. Before it, actors were started without a subscription.
    const subscribe = follow && connection.codec === "fragmenting";
    let isHandedOver = false;
    try {
      const command = { is: "StartActor", manifest, initialState: initialState ?? null, parent: false, subscribe } as const;
      const answer = await connection.send(command, { limitMs: this.#settings.limits.replyMs });
      const id = answer.id.toLowerCase();
      if (subscribe) {
        const follower = this.#followers.create(id);
        onPush = (push) => follower.onPush(push);
        for (const push of buffered) follower.onPush(push);
        this.#followers.adopt(id, follower);
        follower.start({ connection, closed });
        isHandedOver = true;
      } else if (follow) this.#followers.follow(id);
      return id;
    } catch (error) {
      throw toStageError(error, "StartActor", this.#settings);
    } finally {
      if (!isHandedOver) connection.close();
    }
  }
}
