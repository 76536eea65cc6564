import { StageError, type StageStart } from "../stage.ts";
import type { Push } from "../wire/index.ts";
import type { Dialer } from "./dialer.ts";
import type { Followers } from "./followers.ts";
import type { Settings } from "./options.ts";
import { Permits } from "./permits.ts";
import { asStageError } from "./refusals.ts";

/** Starts actors, each on a connection of its own, where servers push an actor's events from its first on. */
export class Starter {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #followers: Followers;
  readonly #permits: Permits;

  constructor(settings: Settings, dialer: Dialer, followers: Followers) {
    this.#settings = settings;
    this.#dialer = dialer;
    this.#followers = followers;
    this.#permits = new Permits(settings.limits.connections, settings.limits.waiting, settings.clock);
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
    if (!(await this.#permits.take(limits.replyMs))) {
      throw new StageError("Timeout", `Too many actors are being started at ${server}: wait for them, then try again.`);
    }
    try {
      return await this.#start(manifest, initialState, follow);
    } finally {
      this.#permits.give();
    }
  }

  async #start(manifest: string, initialState: Uint8Array | undefined, follow: boolean): Promise<string> {
    const early: Push[] = [];
    let hear = (push: Push): void => void (early.length < this.#settings.limits.events && early.push(push));
    const { promise: over, resolve: ended } = Promise.withResolvers<void>();
    const line = await this.#dialer.dial({ push: (push) => hear(push), ended });
    // The newer codec implies the `subscribe` field. Before it, actors were started without a subscription.
    const subscribe = follow && line.codec === "fragmenting";
    let kept = false;
    try {
      const command = { is: "StartActor", manifest, initialState: initialState ?? null, parent: false, subscribe } as const;
      const answer = await line.ask(command, { limitMs: this.#settings.limits.replyMs });
      const id = answer.id.toLowerCase();
      if (subscribe) {
        const follower = this.#followers.create(id);
        hear = (push) => follower.hear(push);
        for (const push of early) follower.hear(push);
        this.#followers.adopt(id, follower);
        follower.start({ line, over });
        kept = true;
      } else if (follow) this.#followers.touch(id);
      return id;
    } catch (error) {
      throw asStageError(error, "StartActor", this.#settings);
    } finally {
      if (!kept) line.close();
    }
  }
}
