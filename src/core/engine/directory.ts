// Owns: the way from an id to its cell, and what is known of each kind.
// Does not own: the list of cells (registry.ts), or when they leave memory (passivation.ts).
import { faults, keyOf, type Kind, kindFrom } from "../chain/internal.ts";
import { TroupeError, type ActorId, type Behaviour, type Json, type Message, type Store } from "../contract/index.ts";
import { kindOf } from "../contract/internal.ts";
import type { Cell } from "./cell.ts";
import type { OnFault } from "./faults.ts";
import type { Eviction, Passivation } from "./passivation.ts";
import type { Registry } from "./registry.ts";

export interface DirectoryHost {
  readonly store: Store | undefined;
  readonly registry: Registry;
  readonly passivation: Passivation;
  readonly eviction: Eviction;
  make(kind: Kind, id: ActorId, memory: boolean): Cell;
  readonly fault: OnFault;
}

/** Finds the cell of an id; makes and loads it if there is none yet. */
export class CellDirectory {
  readonly #host: DirectoryHost;
  readonly #kinds = new Map<string, Kind>();
  /** Memory kinds of which some actor was started on disk. */
  readonly #kindsAlsoStored = new Set<string>();

  /** Throws `NAME_COLLISION`. */
  constructor(behaviours: readonly Behaviour[], host: DirectoryHost) {
    this.#host = host;
    for (const behaviour of behaviours) {
      if (this.#kinds.has(behaviour.kind)) throw kindCollision(behaviour.kind);
      this.#kinds.set(behaviour.kind, kindFrom(behaviour));
    }
  }

  /** Actors of memory kinds are looked for in the store from now on, if it has some of that kind. */
  async findAlsoStored(store: Store): Promise<void> {
    for (const { name, plain } of this.#kinds.values())
      if (plain.policy.persistence === "memory" && (await store.count({ kind: name })) > 0) this.#kindsAlsoStored.add(name);
  }

  serves(kindName: string): boolean {
    return this.#kinds.has(kindName);
  }

  /** Whether actors of this kind may be in the store. Those of a kind that is not served may. */
  mayBeStored(kindName: string): boolean {
    const kind = this.#kinds.get(kindName);
    return this.#host.store !== undefined && (kind === undefined || this.#isStored(kind));
  }

  /** Whether this message is ignored, and not refused, if there is no such actor. */
  ignores(message: Message): boolean {
    try {
      return this.#kinds.get(kindOf(message.to))?.behaviour.lapses?.(message) === true;
    } catch (error) {
      this.#host.fault(error, { where: "turn", actor: message.to, action: message.action });
      return false;
    }
  }

  /** The arguments without secrets. */
  redactedArgs(message: Message): Json {
    return this.#kinds.get(kindOf(message.to))?.behaviour.redact?.(message) ?? message.args;
  }

  /** The cell that a message goes to, loading or loaded; undefined if there is no such memory actor. Throws `BAD_ID`, `UNKNOWN_KIND`, `ENGINE_MISSING`. */
  reachedBy(message: Message): Cell | undefined {
    const known = this.#host.registry.get(message.to);
    if (known !== undefined) return known;
    const kind = this.#kindOf(message.to);
    const persistence = message.policy?.persistence ?? kind.plain.policy.persistence;
    if (persistence === "disk" && this.#host.store === undefined) throw faults.engineMissing(kind.name, "store");
    if (message.policy?.persistence === "disk") this.#kindsAlsoStored.add(kind.name);
    if (this.#isStored(kind)) return this.at(message.to);
    return message.start === undefined ? undefined : this.#create(kind, message.to, true);
  }

  /**
   * The cell of an actor that may be in the store; undefined if its kind is unknown or lives in memory only. `briefly`: it is looked
   * up only to be stopped, and very many may be at once.
   */
  at(id: ActorId, briefly = false): Cell | undefined {
    const known = this.#host.registry.get(id);
    if (known !== undefined) return known;
    const kind = this.#kinds.get(kindOf(id));
    if (kind === undefined || !this.#isStored(kind)) return undefined;
    const cell = this.#create(kind, id, false);
    void this.#load(cell, briefly);
    this.#host.eviction.made();
    return cell;
  }

  /** The same. Throws `BAD_ID`, `UNKNOWN_KIND`, and `NO_ACTOR` if there is none. */
  existing(id: ActorId): Cell {
    this.#kindOf(id);
    const cell = this.at(id);
    if (cell === undefined) throw faults.noActor(id);
    return cell;
  }

  #isStored({ name, plain }: Kind): boolean {
    return this.#host.store !== undefined && (plain.policy.persistence !== "memory" || this.#kindsAlsoStored.has(name));
  }

  async #load(cell: Cell, briefly: boolean): Promise<void> {
    await cell.load();
    // Not before: requests for actors that do not exist must not fill the memory.
    if (cell.gone !== undefined) return;
    // One that cannot be read stays longer, or it would be reported each time.
    if (briefly && cell.actor.status === "live") this.#host.passivation.addBriefly(cell);
    else this.#host.passivation.add(cell);
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

const kindCollision = (kind: string): TroupeError<"NAME_COLLISION"> =>
  new TroupeError("NAME_COLLISION", `Two behaviours are of the kind "${kind}": name one of them otherwise.`);
