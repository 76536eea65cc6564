import type { Component, CoreExport } from "../component/component.ts";
import type { ExportName, ImportName } from "../component/world.ts";
import { compile, type CoreModule } from "./webassembly.ts";
import { Instance } from "./instance.ts";
import { type LocalCall, runCall, type AnswerImport } from "./run-call.ts";
import { coreModule, op, REALLOC, type TestFunction, type TestImport, type TestModule, type ValueType } from "./runnable-module.fixture.ts";

const i32 = (count: number): readonly ValueType[] => Array.from({ length: count }, () => "i32");

/** Core types of the imports that tests use. */
const IMPORTED: Readonly<Partial<Record<ImportName, readonly [readonly ValueType[], readonly ValueType[]]>>> = {
  "runtime.log": [i32(2), []],
  "runtime.get-state": [i32(1), []],
  "runtime.get-chain": [i32(1), []],
  "timing.now": [[], ["i64"]],
  "timing.sleep": [["i64", "i32"], []],
  "environment.exists": [i32(2), i32(1)],
  "message-server-host.send": [i32(5), []],
  "message-server-host.request": [i32(5), []],
  "random.random-bytes": [i32(2), []],
};

/** The address of results in tests. Zeros there mean success without a state. */
export const RESULT = 16;

export const SEND: ExportName = "message-server-client.handle-send";

/** `handle-send` with that body. Its locals: has, state, length, message, length. */
export const send = (body: readonly number[]): TestFunction => ({ name: "send", params: i32(5), results: ["i32"], body });

/** Writes a word to a place in memory. */
export const put = (at: number, value: readonly number[]): number[] => [...op.i32(at), ...value, ...op.store(0)];

/** Returns bytes of its memory as its state. */
export const state = (pointer: readonly number[], length: readonly number[]): number[] => [
  ...put(RESULT + 4, op.i32(1)),
  ...put(RESULT + 8, pointer),
  ...put(RESULT + 12, length),
  ...op.i32(RESULT),
];

export interface TestGuest {
  readonly imports?: readonly ImportName[];
  readonly functions: readonly TestFunction[];
  readonly exports?: Component["exports"];
  /** Other parts of its module. */
  readonly module?: Omit<TestModule, "imports" | "functions">;
  /** Replaces the allocator that grows the memory. */
  readonly realloc?: readonly number[];
}

export interface Guest {
  readonly module: CoreModule;
  readonly component: Component;
  readonly make: () => Instance;
}

/** A guest of a few functions; its imports are functions 0, 1, …, then `functions`, then its allocator. */
export function guest({ imports = [], functions, exports, module: rest = {}, realloc = REALLOC.body }: TestGuest): Guest {
  const imported = imports.map((name): TestImport => {
    const [params, results] = IMPORTED[name] ?? [[], []];
    const [group = "", field = ""] = name.split(".");
    return { module: `theater:simple/${group}`, field, params, results };
  });
  const bytes = coreModule({ ...rest, imports: imported, functions: [...functions, { ...REALLOC, body: realloc }] });
  const exported: Partial<Record<ExportName, CoreExport>> = exports ?? { [SEND]: { core: "send" } };
  const component: Component = {
    digest: "sha256:0",
    package: "theater:simple",
    module: bytes,
    realloc: "cabi_realloc",
    memory: "memory",
    imports: imports.map((name, index) => ({ name, module: imported[index]?.module ?? "", field: imported[index]?.field ?? "" })),
    exports: exported,
  };
  const module = compile(bytes);
  return { module, component, make: () => new Instance(module, component) };
}

export const LIMITS: LocalCall["limits"] = { callMs: 1000, memoryBytes: 1 << 24, hostCalls: 100, hostBytes: 200_000, resultBytes: 1000 };

/** A message sent without a state. */
export const CALL: LocalCall = {
  export: SEND,
  state: undefined,
  params: [Uint8Array.of(1)],
  at: 1_745_424_600_000,
  seed: "00112233445566778899aabbccddeeff",
  variables: {},
  outstanding: [],
  children: [],
  limits: LIMITS,
};

const unexpectedImport: AnswerImport = (name) => Promise.reject(new Error(`${name} is not expected.`));

export const run = (instance: Instance, call: Partial<LocalCall> = {}, wait: AnswerImport = unexpectedImport): ReturnType<typeof runCall> =>
  runCall(instance, { ...CALL, ...call }, wait);
