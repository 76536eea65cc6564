import type { TypeShape, Signature } from "../wit.ts";
import { quoted, WasmError } from "../wasm-error.ts";
import { CORE_SORTS, type CoreSort } from "./core-module.ts";
import type { ByteReader } from "./reader.ts";

export interface InlineCoreInstance {
  readonly items: ReadonlyMap<string, CoreItem>;
}

/** A core module's instance. `args`: what its imports of each name are taken from. */
export interface ModuleInstance {
  readonly module: Uint8Array;
  readonly args: ReadonlyMap<string, CoreInstance>;
}

export type CoreInstance = InlineCoreInstance | ModuleInstance;

export interface CanonOptions {
  readonly memory?: CoreItem;
  readonly realloc?: CoreItem;
  readonly post?: CoreItem;
}

/** Something of a core module's instance, or a core function made of a component's. */
export type CoreItem = { readonly sort: CoreSort } & (
  | { readonly from: ModuleInstance; readonly name: string }
  | { readonly lowered: Func; readonly options: CanonOptions }
  | { readonly builtin: string }
);

export interface Func {
  readonly sort: "func";
  readonly signature: Signature;
  readonly lifted?: { readonly core: CoreItem; readonly options: CanonOptions };
  readonly imported?: { readonly interface: string; readonly name: string };
}

export type Exports = ReadonlyMap<string, Entity>;

export interface Type {
  readonly sort: "type";
  readonly is: { readonly value: TypeShape } | { readonly func: Signature } | { readonly instance: Exports } | { readonly other: string };
}

/** Read anew each time it is instantiated, in the scope that it was found in. */
export interface NestedComponent {
  readonly sort: "component";
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
  readonly scope: Scope;
}

export type Entity =
  | Func
  | Type
  | NestedComponent
  | { readonly sort: "instance"; readonly exports: Exports }
  | { readonly sort: "module"; readonly bytes: Uint8Array };

export type EntitySort = Entity["sort"];

/** Real components have some hundreds to some thousands. */
const MAX_STEPS = 300_000;
const MAX_INSTANTIATED = 128 * 1024 * 1024;
/** Of types in types and components in components, whether written or instantiated. */
const MAX_DEPTH = 24;

/** What reading one component may cost, together: a few bytes can instantiate the same thing without end. */
export class ReadBudget {
  #left = MAX_STEPS;
  #bytes = MAX_INSTANTIATED;
  /** All there are, wherever. */
  readonly coreInstances: CoreInstance[] = [];

  step(reader: ByteReader): void {
    this.#left -= 1;
    if (this.#left < 0) throw reader.damaged(`it takes more than ${MAX_STEPS} steps to follow`);
  }

  /** Of a component that is instantiated: it is read once more. */
  countInstantiation(reader: ByteReader): void {
    this.#bytes -= reader.remaining;
    if (this.#bytes < 0) throw reader.damaged(`it instantiates components of more than ${MAX_INSTANTIATED} bytes`);
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
  readonly budget: ReadBudget;
  readonly parent: Scope | undefined;
  readonly depth: number;
  readonly entities: Readonly<Record<EntitySort, Entity[]>> = { func: [], type: [], component: [], instance: [], module: [] };
  readonly coreItems: Readonly<Record<CoreSort, CoreItem[]>> = { func: [], table: [], memory: [], global: [], tag: [] };
  readonly coreInstances: CoreInstance[] = [];

  constructor(reader: ByteReader, work: ReadBudget, parent?: Scope, depth = (parent?.depth ?? 0) + 1) {
    if (depth > MAX_DEPTH) throw reader.damaged(`it is nested deeper than ${MAX_DEPTH}`);
    this.budget = work;
    this.parent = parent;
    this.depth = depth;
  }

  add(reader: ByteReader, entity: Entity): void {
    this.budget.step(reader);
    this.entities[entity.sort].push(entity);
  }

  addCore(reader: ByteReader, item: CoreItem): void {
    this.budget.step(reader);
    this.coreItems[item.sort].push(item);
  }

  /** By its index, which is read. */
  entity<S extends EntitySort>(reader: ByteReader, sort: S, at = reader.u32()): Extract<Entity, { readonly sort: S }> {
    const found = this.entities[sort][at];
    const is = (entity: Entity | undefined): entity is Extract<Entity, { readonly sort: S }> => entity?.sort === sort;
    if (!is(found)) throw reader.damaged(`it refers to ${sort} ${at}, and has ${this.entities[sort].length} so far`);
    return found;
  }

  coreItem(reader: ByteReader, sort: CoreSort): CoreItem {
    const at = reader.u32();
    const found = this.coreItems[sort][at];
    if (found === undefined) throw reader.damaged(`it refers to core ${sort} ${at}, and has ${this.coreItems[sort].length} so far`);
    return found;
  }

  coreInstance(reader: ByteReader): CoreInstance {
    const at = reader.u32();
    const found = this.coreInstances[at];
    if (found === undefined) throw reader.damaged(`it refers to core instance ${at}, and has ${this.coreInstances.length} so far`);
    return found;
  }

  /** `count` scopes further out. */
  enclosing(reader: ByteReader, count: number): Scope {
    if (count === 0) return this;
    if (this.parent === undefined) throw reader.damaged("an alias reaches further out than there is anything");
    return this.parent.enclosing(reader, count - 1);
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

function coreItemSortOf(reader: ByteReader, code: number): CoreSort {
  if (code === CORE_TYPE) throw needsJco("It aliases a core type");
  const sort = CORE_SORTS[code];
  if (sort === undefined) throw reader.damaged(`${code} is no sort of core items`);
  return sort;
}

/** As exports of core instances name it. */
export const readCoreItemSort = (reader: ByteReader): CoreSort => coreItemSortOf(reader, reader.u8());

/** As aliases and exports of components name it: of a core item, or of an entity. */
export function readSort(reader: ByteReader): { readonly core: CoreSort } | { readonly entity: EntitySort } {
  const code = reader.u8();
  if (code !== 0) {
    const entity = SORTS.get(code);
    if (entity !== undefined) return { entity };
    if (code === 2) throw needsJco("It exports or aliases a value");
    throw reader.damaged(`${code} is no sort`);
  }
  const of = reader.u8();
  if (of === CORE_MODULE) return { entity: "module" };
  return { core: coreItemSortOf(reader, of) };
}

/** Of names, versions and `[method]`; not of URLs, which nothing is fetched from. */
const EXTERN_NAME = /^[\w:/@.+[\]-]*$/;

/** A name of an import or an export of a component, which begins with how it is written. */
export function readExternName(reader: ByteReader): string {
  const how = reader.u8();
  if (how > 2) throw reader.damaged(`${how} begins no name`);
  const written = reader.name();
  // Generated glue spells names: what could end a string there shall be in none, wherever it is nested.
  if (!EXTERN_NAME.test(written)) throw reader.damaged(`${quoted(written)} is no name that WIT has`);
  if (how === 2) reader.name();
  return written;
}

/** Puts what a name stands for where nothing had that name. */
export function addUnique<T>(reader: ByteReader, names: Map<string, T>, key: string, value: T): void {
  if (names.has(key)) throw reader.damaged(`${quoted(key)} is there twice`);
  names.set(key, value);
}

/** What an instance of core items has under a name. Of a module's instance it is known when that module is read. */
function coreExportOf(reader: ByteReader, instance: CoreInstance, sort: CoreItem["sort"], name: string): CoreItem {
  if ("module" in instance) return { sort, from: instance, name };
  const item = instance.items.get(name);
  if (item?.sort !== sort) throw reader.damaged(`a core instance exports no ${sort} ${quoted(name)}`);
  return item;
}

/** Adds what an alias names to the scope. */
export function readAlias(reader: ByteReader, scope: Scope): void {
  const sort = readSort(reader);
  const target = reader.u8();
  if (target === 0x00 && "entity" in sort) {
    const { exports } = scope.entity(reader, "instance");
    const name = reader.name();
    const found = exports.get(name);
    if (found?.sort !== sort.entity) throw reader.damaged(`an instance exports no ${sort.entity} ${quoted(name)}`);
    scope.add(reader, found);
  } else if (target === 0x01 && "core" in sort) {
    const instance = scope.coreInstance(reader);
    scope.addCore(reader, coreExportOf(reader, instance, sort.core, reader.name()));
  } else if (target === 0x02 && "entity" in sort && sort.entity !== "func" && sort.entity !== "instance") {
    const outer = scope.enclosing(reader, reader.u32());
    scope.add(reader, outer.entity(reader, sort.entity));
  } else throw reader.damaged(`${target} is no target of an alias of that sort`);
}
