import type { Component } from "../component.ts";
import type { WitValue } from "../wit.ts";
import type { ImportName } from "../world/interfaces.ts";
import type { Budget } from "./budget.ts";
import { GuestTrap } from "./errors.ts";
import { answeredAtOnce } from "./local-imports.ts";
import type { GuestMemory } from "./memory.ts";
import { type CoreValue, engine, type HostFunction } from "./webassembly.ts";
import { importOf } from "./world.ts";

/** What answers a guest's imports during one call. */
export interface CallHost {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly seed: string;
  /** One more host call. `answer` and `wait` count theirs. */
  count(): void;
  /** For what goes through imports, both ways. */
  readonly passed: Budget;
  /** For what the export returns. */
  readonly returned: Budget;
  answer(name: ImportName, args: readonly WitValue[]): WitValue;
  /** For imports that are not `answeredAtOnce`. */
  wait(name: ImportName, args: readonly WitValue[]): Promise<WitValue>;
}

/** Between a guest and its host. */
export interface Border {
  /** Throws where the guest may not leave; if it may, it may not again until it entered. */
  leave(name: ImportName): { readonly host: CallHost; readonly memory: GuestMemory };
  enter(): void;
  /** What to throw into the guest, which is broken from now on. */
  fail(thrown: unknown): Error;
}

/** What a core module of that component is instantiated with. */
export function importsOf(component: Component, border: Border): Record<string, Record<string, object>> {
  const modules = Map.groupBy(component.imports, ({ module }) => module);
  const named = Array.from(modules, ([module, members]) => [
    module,
    Object.fromEntries(members.map(({ field, name }) => [field, answeredAtOnce(name) ? atOnce(name, border) : waiting(name, border)])),
  ]);
  return Object.fromEntries(named);
}

function atOnce(name: ImportName, border: Border): HostFunction {
  const type = importOf(name);
  return (...flat) => {
    try {
      const { host, memory } = border.leave(name);
      const value = type.lower(memory, host.answer(name, type.lift(memory, flat)), flat);
      border.enter();
      return value;
    } catch (thrown) {
      throw border.fail(thrown);
    }
  };
}

function waiting(name: ImportName, border: Border): object {
  const type = importOf(name);
  const asked = async (flat: readonly CoreValue[]): Promise<CoreValue | undefined> => {
    try {
      const { host, memory } = border.leave(name);
      const value = type.lower(memory, await host.wait(name, type.lift(memory, flat)), flat);
      border.enter();
      return value;
    } catch (thrown) {
      throw border.fail(thrown);
    }
  };
  if (engine.Suspending === undefined)
    throw new GuestTrap("This JavaScript engine cannot suspend a guest that waits for its host: run Node 24.21 or newer.");
  return new engine.Suspending((...flat) => asked(flat));
}
