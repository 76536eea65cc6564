// Owns: reading a component into a model: indices resolved, nested components instantiated. Does not own: checking it against Theater's world (check-world.ts).
import { quoted } from "../wasm-error.ts";
import { COMPONENT, preamble, ByteReader, sections } from "./reader.ts";
import {
  readAlias,
  type CanonOptions,
  type CoreInstance,
  type CoreItem,
  readCoreItemSort,
  type Entity,
  type Exports,
  readExternName,
  addUnique,
  needsJco,
  type NestedComponent,
  Scope,
  readSort,
  ReadBudget,
} from "./scope.ts";
import { readExternDescription, readTypeDefinition } from "./type-definitions.ts";

const LIFT = 0x00;
const LOWER = 0x01;
const RESOURCES = new Set([0x02, 0x03, 0x04]);

function readCanonOptions(reader: ByteReader, scope: Scope): CanonOptions {
  const found: { memory?: CoreItem; realloc?: CoreItem; post?: CoreItem } = {};
  for (let left = reader.count(); left > 0; left -= 1) {
    scope.budget.step(reader);
    const option = reader.u8();
    if (option === 0x00) continue;
    else if (option === 0x01 || option === 0x02) throw needsJco("Its strings are not UTF-8");
    else if (option === 0x03) found.memory = scope.coreItem(reader, "memory");
    else if (option === 0x04) found.realloc = scope.coreItem(reader, "func");
    else if (option === 0x05) found.post = scope.coreItem(reader, "func");
    else if (option <= 0x09) throw needsJco("It has asynchronous functions, or such that return garbage-collected objects");
    else throw reader.damaged(`${option} is no option of the canonical ABI`);
  }
  return found;
}

/** Reads a canonical definition, and adds its function to the scope. */
function readCanon(reader: ByteReader, scope: Scope): void {
  const code = reader.u8();
  if (code === LIFT || code === LOWER) {
    if (reader.u8() !== 0) throw reader.damaged("it lifts or lowers what is no function");
    if (code === LOWER) {
      const lowered = scope.entity(reader, "func");
      scope.addCore(reader, { sort: "func", lowered, options: readCanonOptions(reader, scope) });
      return;
    }
    const lifted = { core: scope.coreItem(reader, "func"), options: readCanonOptions(reader, scope) };
    const { is } = scope.entity(reader, "type");
    if (!("func" in is)) throw reader.damaged("it lifts to a type that is no function's");
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

/** Reads a vector of entries, whose names must differ. */
function readNamed<T>(reader: ByteReader, scope: Scope, readKey: (reader: ByteReader) => string, readEntry: () => T): Map<string, T> {
  const found = new Map<string, T>();
  for (let left = reader.count(); left > 0; left -= 1) {
    scope.budget.step(reader);
    const key = readKey(reader);
    addUnique(reader, found, key, readEntry());
  }
  return found;
}

const readPlainName = (reader: ByteReader): string => reader.name();

function readCoreArguments(reader: ByteReader, scope: Scope): Map<string, CoreInstance> {
  return readNamed(reader, scope, readPlainName, () => {
    if (reader.u8() !== CORE_INSTANCE) throw reader.damaged("a core module is given what is no instance");
    return scope.coreInstance(reader);
  });
}

/** Reads a core instance definition, and adds the instance to the scope. */
function readCoreInstance(reader: ByteReader, scope: Scope): void {
  scope.budget.step(reader);
  const how = reader.u8();
  let instance: CoreInstance;
  if (how === OF_DEFINITION) instance = { module: scope.entity(reader, "module").bytes, args: readCoreArguments(reader, scope) };
  else if (how === INLINE)
    instance = { items: readNamed(reader, scope, readPlainName, () => scope.coreItem(reader, readCoreItemSort(reader))) };
  else throw reader.damaged(`${how} makes no core instance`);
  scope.coreInstances.push(instance);
  scope.budget.coreInstances.push(instance);
}

/** Reads a reference by sort and index. Components neither export nor import core items. */
function readEntityReference(reader: ByteReader, scope: Scope): Entity {
  const sort = readSort(reader);
  if (!("entity" in sort)) throw reader.damaged("a component gives or takes a core item");
  return scope.entity(reader, sort.entity);
}

/** Reads an instance definition, and adds the instance to the scope. `instantiateWith` returns the exports of a nested component. */
function readInstance(
  reader: ByteReader,
  scope: Scope,
  instantiateWith: (component: NestedComponent, args: Exports, from: Scope) => Exports,
): void {
  const how = reader.u8();
  if (how === OF_DEFINITION) {
    const component = scope.entity(reader, "component");
    const args = readNamed(reader, scope, readPlainName, () => readEntityReference(reader, scope));
    scope.add(reader, { sort: "instance", exports: instantiateWith(component, args, scope) });
  } else if (how === INLINE)
    scope.add(reader, { sort: "instance", exports: readNamed(reader, scope, readExternName, () => readEntityReference(reader, scope)) });
  else throw reader.damaged(`${how} makes no instance`);
}

/** A component with its indices resolved and its nested components instantiated. */
export interface Model {
  readonly imports: Exports;
  readonly exports: Exports;
  /** Including those of nested components. */
  readonly coreInstances: readonly CoreInstance[];
}

/** Provides the import of that name and type. */
type ResolveImport = (reader: ByteReader, key: string, wanted: Entity) => Entity;

const DEFINITIONS: Readonly<Record<number, (reader: ByteReader, scope: Scope) => void>> = {
  2: readCoreInstance,
  5: (reader, scope) => readInstance(reader, scope, instantiate),
  6: readAlias,
  7: (reader, scope) => scope.add(reader, readTypeDefinition(reader, scope)),
  8: readCanon,
};

function readExport(reader: ByteReader, scope: Scope, exports: Map<string, Entity>): void {
  const key = readExternName(reader);
  const entity = readEntityReference(reader, scope);
  const ascribed = reader.u8();
  if (ascribed > 1) throw reader.damaged("neither has an export a type, nor has it none");
  if (ascribed === 1) readExternDescription(reader, scope);
  scope.add(reader, entity);
  addUnique(reader, exports, key, entity);
}

function readBody(reader: ByteReader, scope: Scope, imported: ResolveImport): Exports {
  if (preamble(reader) !== COMPONENT) throw reader.damaged("a component does not begin as one");
  const exports = new Map<string, Entity>();
  for (const { id, from, to, body } of sections(reader, () => scope.budget.step(reader))) {
    if (id === 1) scope.add(body, { sort: "module", bytes: body.rest() });
    else if (id === 4) {
      const { at } = body;
      body.rest();
      scope.add(body, { sort: "component", bytes: reader.bytes, from: at, to, scope });
    } else if (id === 3) throw needsJco("It has types of core modules");
    else if (id === 9 || id === 12) throw needsJco("It has values that are known when it starts");
    else if (id > 12) throw body.damaged(`${id} is no section of a component, which begins at ${from}`);
    else
      for (let left = body.count(); left > 0; left -= 1) {
        if (id === 10) {
          const key = readExternName(body);
          scope.add(body, imported(body, key, readExternDescription(body, scope)));
        } else if (id === 11) readExport(body, scope, exports);
        else DEFINITIONS[id]?.(body, scope);
      }
  }
  return exports;
}

function instantiate(component: NestedComponent, args: Exports, from: Scope): Exports {
  const reader = new ByteReader(component.bytes, component.from, component.to);
  from.budget.countInstantiation(reader);
  const scope = new Scope(reader, from.budget, component.scope, from.depth + 1);
  return readBody(reader, scope, (at, key, wanted) => {
    const given = args.get(key);
    if (given?.sort !== wanted.sort) throw at.damaged(`a component inside is not given its ${wanted.sort} ${quoted(key)}`);
    return given;
  });
}

/** Marks each function of an imported instance with its origin, so that imports of core modules can be traced to it. */
function withImportOrigin(reader: ByteReader, scope: Scope, key: string, entity: Entity): Entity {
  if (entity.sort !== "instance") return entity;
  const exports = new Map<string, Entity>();
  for (const [each, of] of entity.exports) {
    scope.budget.step(reader);
    exports.set(each, of.sort === "func" ? { ...of, imported: { interface: key, name: each } } : of);
  }
  return { sort: "instance", exports };
}

/** Throws `WasmError`: BAD_COMPONENT, NEEDS_JCO. */
export function readModel(bytes: Uint8Array): Model {
  const reader = new ByteReader(bytes);
  const work = new ReadBudget();
  const scope = new Scope(reader, work);
  const imports = new Map<string, Entity>();
  const exports = readBody(reader, scope, (at, key, entity) => {
    const outside = withImportOrigin(at, scope, key, entity);
    addUnique(at, imports, key, outside);
    return outside;
  });
  return { imports, exports, coreInstances: work.coreInstances };
}
