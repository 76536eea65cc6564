import { Reader } from "../binary/reader.ts";
import { COMPONENT, preamble, sections } from "../binary/sections.ts";
import { quoted } from "../wasm-error.ts";
import { alias } from "./alias.ts";
import { canon } from "./canon.ts";
import type { CoreInstance, Entity, Exports, NestedComponent } from "./entities.ts";
import { coreInstance, instance, named } from "./instances.ts";
import { Scope, Work, externName, name, needsJco } from "./scope.ts";
import { described, typeDefinition } from "./type-definitions.ts";

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
