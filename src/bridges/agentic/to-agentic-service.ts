// Owns: `toAgenticService` and its types: an actor, and its linked actors, as services. Does not own: reading one (actor-feed.ts).
import type { ActorId, Behaviour, Clock, Engine, Json, Viewer } from "../../core/contract/index.ts";
import { kindOf, omitUndefined } from "../../core/contract/internal.ts";
import { addressOf } from "../../mcp/source/index.ts";
import { ActorFeed } from "./actor-feed.ts";
import type { Observe } from "./agentic-service.ts";
import { trustContent } from "./json-values.ts";

/** An actor, and how to reach it. */
export interface ActorRef {
  readonly engine: Pick<Engine, "call" | "read" | "watch">;
  readonly id: ActorId;
  /** The kinds of the actor and of its linked actors. Links to other kinds are omitted. */
  readonly kinds: readonly Behaviour[];
  /** Who snapshots and acts. Default: an anonymous one. The actor represents it (`self`) unless it names another. */
  readonly viewer?: Viewer;
  /** The first action starts the actor with this value. Absent: something else must start it. Linked actors start as their kinds specify. */
  readonly start?: Json;
  /** The time of views, and of retries of failed reads. */
  readonly clock?: Clock;
  /**
   * Called with faults. The actor could not be read: the last values remain, and the read is retried. A view threw: its state is omitted.
   * A listener threw: the others are notified all the same.
   */
  readonly onFault?: (error: unknown) => void;
}

/** A JSON Schema, with members that all dialects share. */
export interface VisibleSchema {
  readonly title?: string;
  readonly description?: string;
  /** Absent: any type. */
  readonly type?: "blob";
  /** The media type of a resource's text or bytes. */
  readonly mediaType?: string;
}

/** A current state of the service, with its schema. */
export interface VisibleState {
  readonly schema: VisibleSchema;
  /** Bytes if the schema's type is `blob`. */
  readonly value: Json | Uint8Array;
}

/** An action that is available now. `execute` runs it. */
export interface VisibleAction {
  readonly description: string;
  readonly parameters: readonly VisibleSchema[];
  /** Settles with the tool's reply: undefined if it has none, text as `{ text }`. A refusal settles with its message, as text. */
  execute(...input: readonly unknown[]): Promise<Json | undefined>;
}

/** Typed as `@adobe/data` types an AgenticService, so that its consumers take it. */
export interface VisibleActor {
  readonly serviceName: string;
  readonly states: Observe<{ [key: string]: VisibleState }>;
  readonly actions: Observe<{ [key: string]: VisibleAction }>;
  readonly links: Observe<{ [key: string]: VisibleActor }>;
  /** Settles with undefined, or with a refusal as text. Data of a reply is passed through, as the library's own services do. */
  execute(action: string, input: unknown): Promise<string | undefined>;
}

/**
 * Offers an actor as an AgenticService: its resources as states, its tools as actions, linked actors as links. It reads durable states
 * only (law 2) and acts through turns (law 1). It watches the actor while it has subscribers; the first emission follows the first read.
 * Faults of the engine reject. A reply with `needs` is an error as text, since questions to the user are not possible here.
 */
export function toAgenticService(ref: ActorRef): VisibleActor {
  return new ActorServices(ref).serviceOf(ref.id);
}

const MAX_SERVICES = 1_024;

/** One service object per actor, so that a caller who follows links can detect cycles. */
class ActorServices {
  readonly #ref: ActorRef;
  readonly #viewer: Viewer;
  readonly #services = new Map<ActorId, VisibleActor>();

  constructor(ref: ActorRef) {
    this.#ref = ref;
    this.#viewer = { self: ref.id, ...(ref.viewer ?? { scopes: [] }) };
  }

  serviceOf(id: ActorId): VisibleActor {
    let service = this.#services.get(id);
    if (service === undefined) {
      service = this.#make(id);
      this.#services.set(id, service);
      for (const oldest of this.#services.keys()) {
        if (this.#services.size <= MAX_SERVICES) break;
        this.#services.delete(oldest);
      }
    }
    return service;
  }

  #make(id: ActorId): VisibleActor {
    const { start: _start, ...ref } = this.#ref;
    const start = omitUndefined({ start: this.#startOf(id) });
    const feed = new ActorFeed({ ...ref, ...start, id, viewer: this.#viewer, serviceOf: (link) => this.serviceOf(link) });
    return {
      serviceName: kindOf(id),
      states: feed.observe("states"),
      actions: feed.observe("actions"),
      links: feed.observe("links"),
      async execute(action, input) {
        const actions = await feed.actions();
        const found = Object.hasOwn(actions, action) ? actions[action] : undefined;
        if (found === undefined) return `Action ${JSON.stringify(action)} is not available`;
        const result = await found.execute(input);
        // The declared type is the library's, which also passes data through.
        if (result === undefined) return undefined;
        const copy = JSON.parse(JSON.stringify(result));
        trustContent(copy);
        return copy;
      },
    };
  }

  /** The value that a call may start the actor with. Undefined: it may not. A link does not permit starting an actor that others create. */
  #startOf(id: ActorId): Json | undefined {
    if (id === this.#ref.id) return this.#ref.start;
    const behaviour = this.#ref.kinds.find(({ kind }) => kind === kindOf(id));
    if (behaviour === undefined) return undefined;
    return behaviour.autoStart === true || addressOf(behaviour, this.#viewer, undefined)?.id === id ? null : undefined;
  }
}
