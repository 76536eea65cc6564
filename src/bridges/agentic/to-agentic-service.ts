import type { ActorId, Behaviour, Clock, Engine, Json, Viewer } from "../../core/contract/index.ts";
import { kindOf, omitUndefined } from "../../core/contract/internal.ts";
import { addressOf } from "../../mcp/source/index.ts";
import { ActorFeed } from "./actor-feed.ts";
import type { Observe } from "./agentic-service.ts";
import { fromActor } from "./json-values.ts";

/** An actor, and how to reach it. */
export interface ActorRef {
  readonly engine: Pick<Engine, "call" | "read" | "watch">;
  readonly id: ActorId;
  /** Its kind, and those its links lead to; links to other kinds are left out. */
  readonly kinds: readonly Behaviour[];
  /** Who looks and acts. Default: nobody in particular. The actor itself stands for it (`self`) unless it says who does. */
  readonly viewer?: Viewer;
  /** The first action begins the actor with this. Absent: it is there once something else began it. Linked actors begin as their kinds say. */
  readonly start?: Json;
  /** What views take for now, and reads that failed are repeated by. */
  readonly clock?: Clock;
  /**
   * The actor could not be read: what was shown before stays, and it is read again. A view threw: its state is left out. Or a listener threw: the others hear all
   * the same.
   */
  readonly onFault?: (error: unknown) => void;
}

/** A JSON Schema, in the members that every dialect has alike. */
export interface VisibleSchema {
  readonly title?: string;
  readonly description?: string;
  /** Absent: whatever the value is. */
  readonly type?: "blob";
  /** What a resource's text or bytes are. */
  readonly mediaType?: string;
}

/** A state of the service as its user sees it now, with its schema. */
export interface VisibleState {
  readonly schema: VisibleSchema;
  /** Bytes where the schema's type is `blob`. */
  readonly value: Json | Uint8Array;
}

/** An action as the service's user sees it now. `execute` runs it. */
export interface VisibleAction {
  readonly description: string;
  readonly parameters: readonly VisibleSchema[];
  /** Settles with what the tool replied: nothing where it replied nothing, text as `{ text }`. A refusal is its sentence, as text. */
  execute(...input: readonly unknown[]): Promise<Json | undefined>;
}

/** Typed as `@adobe/data` types an AgenticService, so that its consumers take it. */
export interface VisibleActor {
  readonly serviceName: string;
  readonly states: Observe<{ [key: string]: VisibleState }>;
  readonly actions: Observe<{ [key: string]: VisibleAction }>;
  readonly links: Observe<{ [key: string]: VisibleActor }>;
  /** Settles with nothing, or with a refusal as text. Data of a reply comes through as well, as from the library's own services. */
  execute(action: string, input: unknown): Promise<string | undefined>;
}

/**
 * Shows an actor as an AgenticService: what it shows now as states, what can be done now as actions, other actors as
 * links. It reads durable states only (law 2) and acts through turns (law 1); the first emission comes when the actor
 * was read. Listens to the engine while somebody listens to it. Faults of the engine reject; `needs` is an error as
 * text, since nobody can be asked here.
 */
export function toAgenticService(ref: ActorRef): VisibleActor {
  return new Cast(ref).show(ref.id);
}

const MAX_SHOWN = 1_024;

/** The actors that links lead to, each shown as one object, so that whoever follows links can tell when they go in circles. */
class Cast {
  readonly #ref: ActorRef;
  readonly #viewer: Viewer;
  readonly #shown = new Map<ActorId, VisibleActor>();

  constructor(ref: ActorRef) {
    this.#ref = ref;
    this.#viewer = { self: ref.id, ...(ref.viewer ?? { scopes: [] }) };
  }

  show(id: ActorId): VisibleActor {
    let shown = this.#shown.get(id);
    if (shown === undefined) {
      shown = this.#make(id);
      this.#shown.set(id, shown);
      for (const oldest of this.#shown.keys()) {
        if (this.#shown.size <= MAX_SHOWN) break;
        this.#shown.delete(oldest);
      }
    }
    return shown;
  }

  #make(id: ActorId): VisibleActor {
    const { start: _start, ...ref } = this.#ref;
    const start = omitUndefined({ start: this.#startOf(id) });
    const feed = new ActorFeed({ ...ref, ...start, id, viewer: this.#viewer, show: (link) => this.show(link) });
    return {
      serviceName: kindOf(id),
      states: feed.observe("states"),
      actions: feed.observe("actions"),
      links: feed.observe("links"),
      async execute(action, input) {
        const actions = await feed.actions();
        const found = Object.hasOwn(actions, action) ? actions[action] : undefined;
        if (found === undefined) return `Action ${JSON.stringify(action)} is not available`;
        const said = await found.execute(input);
        // JSON either way: the type says what the library's does, which lets data through too.
        if (said === undefined) return undefined;
        const copy = JSON.parse(JSON.stringify(said));
        fromActor(copy);
        return copy;
      },
    };
  }

  /** What a call may begin the actor with. Undefined: nothing. A link is no leave to begin an actor that others create. */
  #startOf(id: ActorId): Json | undefined {
    if (id === this.#ref.id) return this.#ref.start;
    const behaviour = this.#ref.kinds.find(({ kind }) => kind === kindOf(id));
    if (behaviour === undefined) return undefined;
    return behaviour.autoStart === true || addressOf(behaviour, this.#viewer, undefined)?.id === id ? null : undefined;
  }
}
