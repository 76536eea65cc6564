// Owns: the cells of this process by id, how one is made and loaded, and the kinds of actors.
// Does not own: when cells are dropped from memory (passivation.ts).
import { faults, keyOf, type Kind, kindFrom, rolesByKind, mayStart } from "../chain/internal.ts";
import {
  TroupeError,
  type ActorId,
  type Behaviour,
  type Change,
  type Figures,
  type Json,
  type ListQuery,
  type Message,
  type RolesByKind,
  type Store,
  type Viewer,
} from "../contract/index.ts";
import { compareIds, kindOf, MultiMap } from "../contract/internal.ts";
import type { Cell } from "./cell.ts";
import { messageFault, type OnFault } from "./fault-reports.ts";
import { IdTable } from "./id-table.ts";
import type { Eviction, Passivation } from "./passivation.ts";

/** The cells of this process, with the indexes that a store has for actors on disk. */
export class CellTable {
  readonly #cells = new IdTable<Cell>();
  /** By owner: each start by an owner with a limit needs a count. */
  readonly #owned = new MultiMap<string, Cell>();
  readonly #children = new MultiMap<ActorId, ActorId>();
  /** Made on first use: most processes never look up by uid. */
  #uids: Map<string, ActorId> | undefined;
  readonly #counts = new Map<string, number>();

  get size(): number {
    return this.#cells.size;
  }

  get slots(): number {
    return this.#cells.places;
  }

  slot(n: number): Cell | undefined {
    return this.#cells.at(n);
  }

  get(id: ActorId): Cell | undefined {
    return this.#cells.get(id);
  }

  all(): IterableIterator<Cell> {
    return this.#cells.values();
  }

  figures(): Pick<Figures, "actors" | "failed"> {
    let failed = 0;
    for (const cell of this.#cells.values()) if (cell.actor.status === "failed") failed += 1;
    return { actors: this.#cells.size, failed };
  }

  add(cell: Cell): void {
    this.#cells.add(cell);
  }

  forget(cell: Cell): void {
    cell.discarded ??= true;
    this.#cells.delete(cell);
  }

  /** A memory actor has started. */
  started(cell: Cell): void {
    this.#counts.set(cell.actor.kind.name, (this.#counts.get(cell.actor.kind.name) ?? 0) + 1);
    this.#uids?.set(uidOf(cell), cell.id);
    const { parent, owner } = cell.actor.extra;
    if (owner !== undefined) this.#owned.put(owner, cell);
    if (parent !== undefined) this.#children.put(parent, cell.id);
  }

  /** A memory actor has stopped. */
  stopped(cell: Cell): void {
    this.#counts.set(cell.actor.kind.name, (this.#counts.get(cell.actor.kind.name) ?? 1) - 1);
    this.#uids?.delete(uidOf(cell));
    const { parent, owner } = cell.actor.extra;
    if (owner !== undefined) this.#owned.take(owner, cell);
    if (parent !== undefined) this.#children.take(parent, cell.id);
  }

  children(id: ActorId): readonly ActorId[] {
    return [...(this.#children.get(id) ?? [])];
  }

  find(uid: string): ActorId | undefined {
    if (this.#uids === undefined) {
      this.#uids = new Map();
      for (const cell of this.#cells.values()) if (lives(cell)) this.#uids.set(uidOf(cell), cell.id);
    }
    return this.#uids.get(uid);
  }

  count({ kind, owner }: Omit<ListQuery, "after" | "limit">): number {
    let count = 0;
    if (owner !== undefined) {
      for (const cell of this.#owned.get(owner) ?? []) if (lives(cell) && (kind === undefined || cell.actor.kind.name === kind)) count += 1;
      return count;
    }
    for (const [name, of] of this.#counts) if (kind === undefined || name === kind) count += of;
    return count;
  }

  /** At most `limit`, sorted by id. */
  list({ kind, owner, after, limit }: ListQuery): Change[] {
    let found: Cell[] = [];
    let last: Cell | undefined;
    for (const cell of owner === undefined ? this.#cells.values() : (this.#owned.get(owner) ?? [])) {
      if (!lives(cell) || (kind !== undefined && cell.actor.kind.name !== kind)) continue;
      if (after !== undefined && compareIds(cell.id, after) <= 0) continue;
      if (last !== undefined && compareIds(cell.id, last.id) >= 0) continue;
      found.push(cell);
      // Truncated at twice the limit, or listing page by page would sort all cells for each page.
      if (found.length < 2 * limit) continue;
      found = firstOf(found, limit);
      last = found.at(-1);
    }
    return firstOf(found, limit).flatMap((cell) => cell.snapshot() ?? []);
  }
}

const firstOf = (cells: readonly Cell[], limit: number): Cell[] =>
  cells.toSorted((one, other) => compareIds(one.id, other.id)).slice(0, limit);

const lives = ({ actor: { memory, seq, status } }: Cell): boolean => memory && seq > 0 && status !== "stopped";
const uidOf = ({ actor: { extra, life } }: Cell): string => extra.uid ?? life;

export interface DirectoryHost {
  readonly store: Store | undefined;
  readonly table: CellTable;
  readonly passivation: Passivation;
  readonly eviction: Eviction;
  make(kind: Kind, id: ActorId, memory: boolean): Cell;
  readonly fault: OnFault;
}

/** Finds the cell of an id, or makes and loads it. */
export class CellDirectory {
  readonly #host: DirectoryHost;
  readonly #behaviours: readonly Behaviour[];
  readonly #kinds = new Map<string, Kind>();
  /** Memory kinds that have actors on disk too. */
  readonly #kindsAlsoStored = new Set<string>();

  /** Throws `NAME_COLLISION`. */
  constructor(behaviours: readonly Behaviour[], host: DirectoryHost) {
    this.#host = host;
    this.#behaviours = behaviours;
    for (const behaviour of behaviours) {
      const { kind } = behaviour;
      if (this.#kinds.has(kind))
        throw new TroupeError("NAME_COLLISION", `Two behaviours are of the kind "${kind}": name one of them otherwise.`);
      this.#kinds.set(kind, kindFrom(behaviour));
    }
  }

  /** Finds the memory kinds that have actors in the store: those are looked up there from now on. */
  async findAlsoStored(store: Store): Promise<void> {
    for (const { name, plain } of this.#kinds.values())
      if (plain.policy.persistence === "memory" && (await store.count({ kind: name })) > 0) this.#kindsAlsoStored.add(name);
  }

  serves(kindName: string): boolean {
    return this.#kinds.has(kindName);
  }

  /** Whether actors of this kind may be in the store; true for a kind that is not served. */
  mayBeStored(kindName: string): boolean {
    const kind = this.#kinds.get(kindName);
    return this.#host.store !== undefined && (kind === undefined || this.#isStored(kind));
  }

  /** Whether this message is ignored instead of refused if its actor does not exist. */
  ignores(message: Message): boolean {
    const behaviour = this.#kinds.get(kindOf(message.to))?.behaviour;
    try {
      return behaviour?.lapses?.(message) === true;
    } catch (error) {
      this.#host.fault(error, messageFault("turn", behaviour ?? {}, message));
      return false;
    }
  }

  rolesOf(viewer: Viewer): RolesByKind {
    return rolesByKind(this.#behaviours, viewer);
  }

  /** The arguments without secrets. */
  redactedArgs(message: Message): Json {
    return this.#kinds.get(kindOf(message.to))?.behaviour.redact?.(message) ?? message.args;
  }

  /** Whether it begins an actor that is not there. */
  mayStart(message: Message): boolean {
    const kind = this.#kinds.get(kindOf(message.to));
    return kind !== undefined && mayStart(kind, message);
  }

  /** Whether it only reads. */
  isRead({ to, action }: Message): boolean {
    return this.#kinds.get(kindOf(to))?.reads.has(action) === true;
  }

  /** The cell that a message goes to, loading or loaded; undefined if there is no such memory actor. Throws `BAD_ID`, `UNKNOWN_KIND`, `ENGINE_MISSING`. */
  reachedBy(message: Message): Cell | undefined {
    const known = this.#host.table.get(message.to);
    if (known !== undefined) return known;
    const kind = this.#kindOf(message.to);
    const persistence = message.policy?.persistence ?? kind.plain.policy.persistence;
    if (persistence === "disk" && this.#host.store === undefined) throw faults.engineMissing(kind.name, "store");
    if (message.policy?.persistence === "disk") this.#kindsAlsoStored.add(kind.name);
    if (this.#isStored(kind)) return this.at(message.to);
    return mayStart(kind, message) ? this.#create(kind, message.to, true) : undefined;
  }

  /**
   * The cell of an actor that may be in the store; undefined if its kind is unknown or in memory only. `briefly`: the lookup may be
   * one of very many, and the cell is probably not needed for long.
   */
  at(id: ActorId, briefly = false): Cell | undefined {
    const known = this.#host.table.get(id);
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
    // Only now: requests for actors that do not exist must not fill the memory.
    if (cell.discarded !== undefined) return;
    // An actor that cannot be read stays longer, or it would be reported at each lookup.
    if (briefly && cell.actor.status === "live") this.#host.passivation.addBriefly(cell);
    else this.#host.passivation.add(cell);
  }

  #create(kind: Kind, id: ActorId, memory: boolean): Cell {
    const cell = this.#host.make(kind, id, memory);
    this.#host.table.add(cell);
    return cell;
  }

  #kindOf(id: ActorId): Kind {
    keyOf(id);
    const kind = this.#kinds.get(kindOf(id));
    if (kind === undefined) throw faults.unknownKind(kindOf(id));
    return kind;
  }
}
