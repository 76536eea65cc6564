import { quoted } from "../wasm-error.ts";
import { COMPONENT, preamble, Reader, sections } from "./reader.ts";
import {
  alias,
  type CanonOptions,
  type CoreInstance,
  type CoreItem,
  coreSort,
  type Entity,
  type Exports,
  externName,
  name,
  needsJco,
  type NestedComponent,
  Scope,
  sortOf,
  Work,
} from "./scope.ts";
import { described, typeDefinition } from "./type-definitions.ts";

const LIFT = 0x00;
const LOWER = 0x01;
const RESOURCES = new Set([0x02, 0x03, 0x04]);

function options(reader: Reader, scope: Scope): CanonOptions {
  const found: { memory?: CoreItem; realloc?: CoreItem; post?: CoreItem } = {};
  for (let left = reader.count(); left > 0; left -= 1) {
    scope.work.step(reader);
    const option = reader.u8();
    if (option === 0x00) continue;
    else if (option === 0x01 || option === 0x02) throw needsJco("Its strings are not UTF-8");
    else if (option === 0x03) found.memory = scope.core(reader, "memory");
    else if (option === 0x04) found.realloc = scope.core(reader, "func");
    else if (option === 0x05) found.post = scope.core(reader, "func");
    else if (option <= 0x09) throw needsJco("It has asynchronous functions, or such that return garbage-collected objects");
    else throw reader.bad(`${option} is no option of the canonical ABI`);
  }
  return found;
}

/** Adds the function that one canonical definition makes. */
function canon(reader: Reader, scope: Scope): void {
  const code = reader.u8();
  if (code === LIFT || code === LOWER) {
    if (reader.u8() !== 0) throw reader.bad("it lifts or lowers what is no function");
    if (code === LOWER) {
      const lowered = scope.entity(reader, "func");
      scope.addCore(reader, { sort: "func", lowered, options: options(reader, scope) });
      return;
    }
    const lifted = { core: scope.core(reader, "func"), options: options(reader, scope) };
    const { is } = scope.entity(reader, "type");
    if (!("func" in is)) throw reader.bad("it lifts to a type that is no function's");
    scope.add(reader, { sort: "func", signature: is.func, lifted });
    return;
  }
  if (!RESOURCES.has(code)) throw needsJco(`It uses the canonical built-in ${code}`);
  scope.entity(reader, "type");
  scope.addCore(reader, { sort: "func", builtin: "of a resource" });
}

const OF_DEFINITION = 0x00;
const INLINE = 0x01;
const CORE_INSTANCE = 0x12;

function coreArgs(reader: Reader, scope: Scope): Map<string, CoreInstance> {
  const args = new Map<string, CoreInstance>();
  for (let left = reader.count(); left > 0; left -= 1) {
    scope.work.step(reader);
    const key = reader.name();
    if (reader.u8() !== CORE_INSTANCE) throw reader.bad("a core module is given what is no instance");
    name(reader, args, key, scope.coreInstance(reader));
  }
  return args;
}

/** Adds what one definition of a core instance makes. */
function coreInstance(reader: Reader, scope: Scope): void {
  scope.work.step(reader);
  const how = reader.u8();
  let made: CoreInstance;
  if (how === OF_DEFINITION) made = { module: scope.entity(reader, "module").bytes, args: coreArgs(reader, scope) };
  else if (how === INLINE) {
    const items = new Map<string, CoreItem>();
    for (let left = reader.count(); left > 0; left -= 1) {
      scope.work.step(reader);
      const key = reader.name();
      name(reader, items, key, scope.core(reader, coreSort(reader)));
    }
    made = { items };
  } else throw reader.bad(`${how} makes no core instance`);
  scope.coreInstances.push(made);
  scope.work.coreInstances.push(made);
}

/** What a sort and an index name: components give and take no core items. */
function named(reader: Reader, scope: Scope): Entity {
  const sort = sortOf(reader);
  if (!("entity" in sort)) throw reader.bad("a component gives or takes a core item");
  return scope.entity(reader, sort.entity);
}

function entities(reader: Reader, scope: Scope, key: (reader: Reader) => string): Map<string, Entity> {
  const found = new Map<string, Entity>();
  for (let left = reader.count(); left > 0; left -= 1) {
    scope.work.step(reader);
    const each = key(reader);
    name(reader, found, each, named(reader, scope));
  }
  return found;
}

/** Adds what one definition of an instance makes; `run` gives what a component exports that is given these. */
function instance(reader: Reader, scope: Scope, run: (component: NestedComponent, args: Exports, from: Scope) => Exports): void {
  const how = reader.u8();
  if (how === OF_DEFINITION) {
    const component = scope.entity(reader, "component");
    const args = entities(reader, scope, (from) => from.name());
    scope.add(reader, { sort: "instance", exports: run(component, args, scope) });
  } else if (how === INLINE) scope.add(reader, { sort: "instance", exports: entities(reader, scope, externName) });
  else throw reader.bad(`${how} makes no instance`);
}

/** What a component is, indices resolved and nested components followed. */
export interface Model {
  readonly imports: Exports;
  readonly exports: Exports;
  /** All of them, those of nested components too. */
  readonly coreInstances: readonly CoreInstance[];
}

/** Gives what is imported by that name, of that description. */
type Imported = (reader: Reader, key: string, wanted: Entity) => Entity;

const DEFINITIONS: Readonly<Record<number, (reader: Reader, scope: Scope) => void>> = {
  2: coreInstance,
  5: (reader, scope) => instance(reader, scope, instantiated),
  6: alias,
  7: (reader, scope) => scope.add(reader, typeDefinition(reader, scope)),
  8: canon,
};

function exported(reader: Reader, scope: Scope, exports: Map<string, Entity>): void {
  const key = externName(reader);
  const entity = named(reader, scope);
  const ascribed = reader.u8();
  if (ascribed > 1) throw reader.bad("neither has an export a type, nor has it none");
  if (ascribed === 1) described(reader, scope);
  scope.add(reader, entity);
  name(reader, exports, key, entity);
}

function run(reader: Reader, scope: Scope, imported: Imported): Exports {
  if (preamble(reader) !== COMPONENT) throw reader.bad("a component does not begin as one");
  const exports = new Map<string, Entity>();
  for (const { id, from, to, body } of sections(reader, () => scope.work.step(reader))) {
    if (id === 1) scope.add(body, { sort: "module", bytes: body.rest() });
    else if (id === 4) {
      const { at } = body;
      body.rest();
      scope.add(body, { sort: "component", bytes: reader.bytes, from: at, to, scope });
    } else if (id === 3) throw needsJco("It has types of core modules");
    else if (id === 9 || id === 12) throw needsJco("It has values that are known when it starts");
    else if (id > 12) throw body.bad(`${id} is no section of a component, which begins at ${from}`);
    else
      for (let left = body.count(); left > 0; left -= 1) {
        if (id === 10) {
          const key = externName(body);
          scope.add(body, imported(body, key, described(body, scope)));
        } else if (id === 11) exported(body, scope, exports);
        else DEFINITIONS[id]?.(body, scope);
      }
  }
  return exports;
}

function instantiated(component: NestedComponent, args: Exports, from: Scope): Exports {
  const reader = new Reader(component.bytes, component.from, component.to);
  from.work.again(reader);
  const scope = new Scope(reader, from.work, component.scope, from.depth + 1);
  return run(reader, scope, (at, key, wanted) => {
    const given = args.get(key);
    if (given?.sort !== wanted.sort) throw at.bad(`a component inside is not given its ${wanted.sort} ${quoted(key)}`);
    return given;
  });
}

/** Each function of an instance remembers where it is from: that is what a core module's imports are traced to. */
function fromOutside(reader: Reader, scope: Scope, key: string, entity: Entity): Entity {
  if (entity.sort !== "instance") return entity;
  const exports = new Map<string, Entity>();
  for (const [each, of] of entity.exports) {
    scope.work.step(reader);
    exports.set(each, of.sort === "func" ? { ...of, imported: { interface: key, name: each } } : of);
  }
  return { sort: "instance", exports };
}

/** Throws `WasmError`: BAD_COMPONENT, NEEDS_JCO. */
export function readModel(bytes: Uint8Array): Model {
  const reader = new Reader(bytes);
  const work = new Work();
  const scope = new Scope(reader, work);
  const imports = new Map<string, Entity>();
  const exports = run(reader, scope, (at, key, entity) => {
    const outside = fromOutside(at, scope, key, entity);
    name(at, imports, key, outside);
    return outside;
  });
  return { imports, exports, coreInstances: work.coreInstances };
}
