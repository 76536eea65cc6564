import { faults, keyOf, type Kind, kindFrom } from "../chain/internal.ts";
import { TroupeError, type ActorId, type Behaviour, type Json, type Message, type Store } from "../contract/index.ts";
import { kindOf } from "../contract/internal.ts";
import type { Cell } from "./cell.ts";
import type { Eviction } from "./eviction.ts";
import type { FaultContext } from "./host.ts";
import type { Idle } from "./idle.ts";
import type { Registry } from "./registry.ts";

export interface CellsHost {
  readonly store: Store | undefined;
  readonly registry: Registry;
  readonly idle: Idle;
  readonly eviction: Eviction;
  make(kind: Kind, id: ActorId, memory: boolean): Cell;
  fault(error: unknown, context: FaultContext): void;
}

/** The way from an id to its cell, which is made, and loaded, where there is none yet. */
export class Cells {
  readonly #host: CellsHost;
  readonly #kinds = new Map<string, Kind>();
  /** Memory kinds of which some actor was begun on disk. */
  readonly #strays = new Set<string>();

  /** Throws `NAME_COLLISION`. */
  constructor(behaviours: readonly Behaviour[], host: CellsHost) {
    this.#host = host;
    for (const behaviour of behaviours) {
      if (this.#kinds.has(behaviour.kind)) throw twoOfAKind(behaviour.kind);
      this.#kinds.set(behaviour.kind, kindFrom(behaviour));
    }
  }

  /** Memory kinds of which there is something in the store are looked for there from now on. */
  async findStrays(store: Store): Promise<void> {
    for (const { name, plain } of this.#kinds.values())
      if (plain.policy.persistence === "memory" && (await store.count({ kind: name })) > 0) this.#strays.add(name);
  }

  serves(kindName: string): boolean {
    return this.#kinds.has(kindName);
  }

  /** Whether actors of this kind may be in the store. Those of a kind that is not served may. */
  maySleep(kindName: string): boolean {
    const kind = this.#kinds.get(kindName);
    return this.#host.store !== undefined && (kind === undefined || this.#sleeps(kind));
  }

  /** Whether nothing is refused where there is no such actor. */
  lapses(message: Message): boolean {
    try {
      return this.#kinds.get(kindOf(message.to))?.behaviour.lapses?.(message) === true;
    } catch (error) {
      this.#host.fault(error, { where: "turn", actor: message.to, action: message.action });
      return false;
    }
  }

  /** The arguments without what is secret. */
  shown(message: Message): Json {
    return this.#kinds.get(kindOf(message.to))?.behaviour.redact?.(message) ?? message.args;
  }

  /** Where a message goes to, begun, loading or live; undefined where no such memory actor is. Throws `BAD_ID`, `UNKNOWN_KIND`, `ENGINE_MISSING`. */
  reachedBy(message: Message): Cell | undefined {
    const known = this.#host.registry.get(message.to);
    if (known !== undefined) return known;
    const kind = this.#kindOf(message.to);
    const persistence = message.policy?.persistence ?? kind.plain.policy.persistence;
    if (persistence === "disk" && this.#host.store === undefined) throw faults.engineMissing(kind.name, "store");
    if (message.policy?.persistence === "disk") this.#strays.add(kind.name);
    if (this.#sleeps(kind)) return this.at(message.to);
    return message.start === undefined ? undefined : this.#create(kind, message.to, true);
  }

  /**
   * Of an actor that may be in the store; undefined where its kind is not known or lives in memory only. `briefly`: where it is looked
   * for only to end, very many may be at once.
   */
  at(id: ActorId, briefly = false): Cell | undefined {
    const known = this.#host.registry.get(id);
    if (known !== undefined) return known;
    const kind = this.#kinds.get(kindOf(id));
    if (kind === undefined || !this.#sleeps(kind)) return undefined;
    const cell = this.#create(kind, id, false);
    void this.#load(cell, briefly);
    this.#host.eviction.made();
    return cell;
  }

  /** The same. Throws `BAD_ID`, `UNKNOWN_KIND`, and `NO_ACTOR` where there is none. */
  existing(id: ActorId): Cell {
    this.#kindOf(id);
    const cell = this.at(id);
    if (cell === undefined) throw faults.noActor(id);
    return cell;
  }

  #sleeps({ name, plain }: Kind): boolean {
    return this.#host.store !== undefined && (plain.policy.persistence !== "memory" || this.#strays.has(name));
  }

  async #load(cell: Cell, briefly: boolean): Promise<void> {
    await cell.load();
    // Not before: whoever asks for actors that are not there must not fill the memory.
    if (cell.forgotten) return;
    // What cannot be read says so each time.
    if (briefly && cell.status === "live") this.#host.idle.addBriefly(cell);
    else this.#host.idle.add(cell);
  }

  #create(kind: Kind, id: ActorId, memory: boolean): Cell {
    const cell = this.#host.make(kind, id, memory);
    this.#host.registry.add(cell);
    return cell;
  }

  #kindOf(id: ActorId): Kind {
    keyOf(id);
    const kind = this.#kinds.get(kindOf(id));
    if (kind === undefined) throw faults.unknownKind(kindOf(id));
    return kind;
  }
}

const twoOfAKind = (kind: string): TroupeError<"NAME_COLLISION"> =>
  new TroupeError("NAME_COLLISION", `Two behaviours are of the kind "${kind}": name one of them otherwise.`);
