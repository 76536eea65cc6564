// Owns: starting and restarting actors of the server. Does not own: the list of actors (actor-list.ts).
import { type StageActor, type StageCode, StageError, type StageStart } from "../stage.ts";
import type { ActorList } from "./actor-list.ts";
import { type CommandClient, Semaphore } from "./command-client.ts";
import { PushBuffer } from "./connection.ts";
import type { Dialer } from "./dialer.ts";
import { toStageError } from "./errors.ts";
import type { EventFollowers } from "./event-followers.ts";
import type { Settings } from "./options.ts";

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
    const pushes = new PushBuffer(this.#settings.limits.events);
    const { promise: closed, resolve: ended } = Promise.withResolvers<void>();
    const connection = await this.#dialer.dial({ push: (push) => pushes.push(push), ended });
    // The newer codec implies the `subscribe` field. Before it, actors were started without a subscription.
    const subscribe = follow && connection.codec === "fragmenting";
    let isHandedOver = false;
    try {
      const command = { type: "StartActor", manifest, initialState: initialState ?? null, parent: false, subscribe } as const;
      const answer = await connection.send(command);
      const id = answer.id.toLowerCase();
      if (subscribe) {
        const follower = this.#followers.create(id);
        pushes.release((push) => follower.onPush(push));
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

/** Codes that servers without a restart use, among other errors. */
const UNSUPPORTED_CODES: ReadonlySet<StageCode> = new Set(["RuntimeError", "InternalError", "ActorError"]);

/** Servers of April 2025 start a new actor from the manifest alone and report the old id; later ones refuse. */
export async function restartActor(settings: Settings, commands: CommandClient, actors: ActorList, idOrName: string): Promise<StageActor> {
  const { id, name } = await actors.find(idOrName);
  const before = new Set((await actors.all()).map((actor) => actor.id));
  try {
    await commands.once({ type: "RestartActor", id });
  } catch (error) {
    if (!(error instanceof StageError) || !UNSUPPORTED_CODES.has(error.code)) throw error;
    const sentence = `${error.message} Instead, read the actor's state if it is worth keeping, stop the actor, and start another with that state.`;
    throw new StageError("ActorError", sentence, { cause: error });
  }
  const after = await actors.all().catch((error: unknown): never => {
    if (!(error instanceof StageError)) throw error;
    const sentence = `${settings.server} restarted the actor, and gave no list of its actors then: list them to see whether its id is the same, before you restart it again.`;
    throw new StageError("CommunicationError", sentence, { cause: error });
  });
  if (after.some((actor) => actor.id === id)) return { id, name, status: "RUNNING" };
  const [replacement, ...others] = after.filter((actor) => !before.has(actor.id));
  const identity =
    replacement !== undefined && others.length === 0 ? `as ${replacement.id}` : "under another id: list the actors to find it";
  const sentence = `${settings.server} stopped the actor and started it again ${identity}, without its state. That state is lost: start actors with an initial state instead of restarting them here.`;
  throw new StageError("ActorError", sentence);
}
