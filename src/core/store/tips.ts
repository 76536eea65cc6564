import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ActorId, Row } from "../contract/index.ts";
import { AT, COLUMNS, readRow } from "./actor-row.ts";
import { damaged, int, maybeInt, split, text } from "./column.ts";

/** The end of an actor's chain: what its next turn needs to know of its last one. */
export interface Tip {
  readonly id: ActorId;
  readonly pk: number;
  row: Row;
  /** CRC of the part of the row that seldom changes. */
  cold: number;
  seq: number;
  head: string;
  /** Place of the head in the log, and of the last event with a whole state. */
  pos: number;
  full: number;
  /** What the file's row has for `pos`: within a transaction perhaps one of before. */
  kept: number;
  /** As stored: never later than the true one. */
  due: number | null;
  /** Places of the last events whose seq is a multiple of 64 and of 4,096; unknown until the first turn after a load. */
  marks: { readonly back: number | null; readonly far: number | null } | undefined;
}

/** Of actors that were in use lately, at most twice `half` of them. They hold because the store's lock keeps every other writer out. */
export class Tips {
  readonly #byName: StatementSync;
  readonly #half: number;
  #young = new Map<ActorId, Tip>();
  #old = new Map<ActorId, Tip>();

  constructor(database: DatabaseSync, half = 10_000) {
    // In two steps, or kind and key would be read from the index, which could never be found wrong then.
    this.#byName = database.prepare(`SELECT ${COLUMNS} FROM actor WHERE id = (SELECT id FROM actor WHERE kind = ? AND key = ?)`);
    this.#byName.setReturnArrays(true);
    this.#half = half;
  }

  get(id: ActorId): Tip | undefined {
    const young = this.#young.get(id);
    if (young) return young;
    const old = this.#old.get(id);
    if (old) {
      this.set(id, old);
      return old;
    }
    return this.read(id);
  }

  /** Only what is remembered. */
  known(id: ActorId): Tip | undefined {
    return this.#young.get(id) ?? this.#old.get(id);
  }

  /** From the file, its sum checked. */
  read(id: ActorId): Tip | undefined {
    const [kind, key] = split(id);
    const columns = this.#byName.get(kind, key);
    if (columns === undefined) return undefined;
    // Its sum does not cover who it is, and a damaged index leads to another's row.
    if (columns[AT.kind] !== kind || columns[AT.key] !== key) throw damaged(`the row of ${id} is another's`);
    const { row, cold } = readRow(columns);
    const tip: Tip = {
      id,
      pk: int(columns[AT.id]),
      row,
      cold,
      seq: int(columns[AT.seq]),
      head: text(columns[AT.head]),
      pos: int(columns[AT.pos]),
      full: int(columns[AT.full]),
      kept: int(columns[AT.pos]),
      due: maybeInt(columns[AT.due]) ?? null,
      marks: undefined,
    };
    this.set(id, tip);
    return tip;
  }

  set(id: ActorId, tip: Tip): void {
    this.#young.set(id, tip);
    if (this.#young.size <= this.#half) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  drop(id: ActorId): void {
    this.#young.delete(id);
    this.#old.delete(id);
  }

  /** After a rollback what they say is not there. */
  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
  }
}
