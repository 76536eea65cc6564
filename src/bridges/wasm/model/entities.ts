import type { CoreSort } from "../binary/core-module.ts";
import type { Shape, Signature } from "../world/shape.ts";
import type { Scope } from "./scope.ts";

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
  readonly is: { readonly value: Shape } | { readonly func: Signature } | { readonly instance: Exports } | { readonly other: string };
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
