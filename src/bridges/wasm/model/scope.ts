import { CORE_SORTS, type CoreSort } from "../binary/core-module.ts";
import type { Reader } from "../binary/reader.ts";
import { WasmError, quoted } from "../wasm-error.ts";
import type { CoreInstance, CoreItem, Entity, EntitySort } from "./entities.ts";

/** Real components have some hundreds to some thousands. */
const MAX_STEPS = 300_000;
const MAX_INSTANTIATED = 128 * 1024 * 1024;
/** Of types in types and components in components, whether written or instantiated. */
const MAX_DEPTH = 24;

/** What reading one component may cost, together: a few bytes can instantiate the same thing without end. */
export class Work {
  #left = MAX_STEPS;
  #bytes = MAX_INSTANTIATED;
  /** All there are, wherever. */
  readonly coreInstances: CoreInstance[] = [];

  step(reader: Reader): void {
    this.#left -= 1;
    if (this.#left < 0) throw reader.bad(`it takes more than ${MAX_STEPS} steps to follow`);
  }

  /** Of a component that is instantiated: it is read once more. */
  again(reader: Reader): void {
    this.#bytes -= reader.left;
    if (this.#bytes < 0) throw reader.bad(`it instantiates components of more than ${MAX_INSTANTIATED} bytes`);
  }
}

/** What only generated glue may follow. */
export class NeedsJco extends WasmError {
  readonly why: string;
  constructor(why: string) {
    super(
      "NEEDS_JCO",
      `${why}. Such a component runs through jco only: install @bytecodealliance/jco beside Troupe, or link the guest by \`wasm-tools component new\` alone.`,
    );
    this.why = why;
  }
}

export const needsJco = (why: string): NeedsJco => new NeedsJco(why);

/** The index spaces of a component, or of a type of one. */
export class Scope {
  readonly work: Work;
  readonly parent: Scope | undefined;
  readonly depth: number;
  readonly entities: Readonly<Record<EntitySort, Entity[]>> = { func: [], type: [], component: [], instance: [], module: [] };
  readonly coreItems: Readonly<Record<CoreSort, CoreItem[]>> = { func: [], table: [], memory: [], global: [], tag: [] };
  readonly coreInstances: CoreInstance[] = [];

  constructor(reader: Reader, work: Work, parent?: Scope, depth = (parent?.depth ?? 0) + 1) {
    if (depth > MAX_DEPTH) throw reader.bad(`it is nested deeper than ${MAX_DEPTH}`);
    this.work = work;
    this.parent = parent;
    this.depth = depth;
  }

  add(reader: Reader, entity: Entity): void {
    this.work.step(reader);
    this.entities[entity.sort].push(entity);
  }

  addCore(reader: Reader, item: CoreItem): void {
    this.work.step(reader);
    this.coreItems[item.sort].push(item);
  }

  /** By its index, which is read. */
  entity<S extends EntitySort>(reader: Reader, sort: S, at = reader.u32()): Extract<Entity, { readonly sort: S }> {
    const found = this.entities[sort][at];
    const is = (entity: Entity | undefined): entity is Extract<Entity, { readonly sort: S }> => entity?.sort === sort;
    if (!is(found)) throw reader.bad(`it refers to ${sort} ${at}, and has ${this.entities[sort].length} so far`);
    return found;
  }

  core(reader: Reader, sort: CoreSort): CoreItem {
    const at = reader.u32();
    const found = this.coreItems[sort][at];
    if (found === undefined) throw reader.bad(`it refers to core ${sort} ${at}, and has ${this.coreItems[sort].length} so far`);
    return found;
  }

  coreInstance(reader: Reader): CoreInstance {
    const at = reader.u32();
    const found = this.coreInstances[at];
    if (found === undefined) throw reader.bad(`it refers to core instance ${at}, and has ${this.coreInstances.length} so far`);
    return found;
  }

  /** `count` scopes further out. */
  outer(reader: Reader, count: number): Scope {
    if (count === 0) return this;
    if (this.parent === undefined) throw reader.bad("an alias reaches further out than there is anything");
    return this.parent.outer(reader, count - 1);
  }
}

const SORTS = new Map<number, EntitySort>([
  [1, "func"],
  [3, "type"],
  [4, "component"],
  [5, "instance"],
]);

const CORE_TYPE = 0x10;
const CORE_MODULE = 0x11;

function coreSortOf(reader: Reader, code: number): CoreSort {
  if (code === CORE_TYPE) throw needsJco("It aliases a core type");
  const sort = CORE_SORTS[code];
  if (sort === undefined) throw reader.bad(`${code} is no sort of core items`);
  return sort;
}

/** As exports of core instances name it. */
export const coreSort = (reader: Reader): CoreSort => coreSortOf(reader, reader.u8());

/** As aliases and exports of components name it: of a core item, or of an entity. */
export function sortOf(reader: Reader): { readonly core: CoreSort } | { readonly entity: EntitySort } {
  const code = reader.u8();
  if (code !== 0) {
    const entity = SORTS.get(code);
    if (entity !== undefined) return { entity };
    if (code === 2) throw needsJco("It exports or aliases a value");
    throw reader.bad(`${code} is no sort`);
  }
  const of = reader.u8();
  if (of === CORE_MODULE) return { entity: "module" };
  return { core: coreSortOf(reader, of) };
}

/** Of names, versions and `[method]`; not of URLs, which nothing is fetched from. */
const WRITTEN = /^[\w:/@.+[\]-]*$/;

/** A name of an import or an export of a component, which begins with how it is written. */
export function externName(reader: Reader): string {
  const how = reader.u8();
  if (how > 2) throw reader.bad(`${how} begins no name`);
  const written = reader.name();
  // Generated glue spells names: what could end a string there shall be in none, wherever it is nested.
  if (!WRITTEN.test(written)) throw reader.bad(`${quoted(written)} is no name that WIT has`);
  if (how === 2) reader.name();
  return written;
}

/** Puts what a name stands for where nothing had that name. */
export function name<T>(reader: Reader, names: Map<string, T>, key: string, value: T): void {
  if (names.has(key)) throw reader.bad(`${quoted(key)} is there twice`);
  names.set(key, value);
}
