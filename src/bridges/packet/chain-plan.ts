// Owns: chains of capabilities: finding one that leads from given fields to wanted ones, and running it.
//   Does not own: running one capability (running.ts).
import { type JsonObject, isJsonObject } from "../../core/contract/index.ts";
import type { Capability, RunCapability, RunOptions } from "./capability.ts";
import { PacketError } from "./packet.ts";

/** One capability of a chain: the fields it takes and the fields it adds. */
export interface Step {
  readonly capability_id: string;
  readonly takes: readonly string[];
  readonly gives: readonly string[];
}

/** Capabilities in sequence, found by what they require and provide. */
export interface ChainPlan {
  readonly steps: readonly Step[];
  readonly from: readonly string[];
  readonly to: readonly string[];
}

/** What a chain did, or with `dryRun` would do. */
export interface ChainRan {
  readonly steps: readonly (Step & { readonly execution_time_ms?: number })[];
  /** All fields that are known at the end. */
  readonly result: JsonObject;
}

/**
 * Finds a chain from the given fields to the wanted ones, in an order in which it can run. Steps are added only as needed.
 * Undefined: these capabilities cannot provide them.
 */
export function planChain(capabilities: readonly Capability[], from: readonly string[], to: readonly string[]): ChainPlan | undefined {
  const providers = new Map<string, Capability>();
  const known = new Set(from);
  // In rounds: a field found in an earlier round needs no more steps than one found later.
  for (let hasGrown = true; hasGrown && !to.every((field) => known.has(field));) {
    const ready = capabilities.filter(
      ({ requires, provides }) => requires.every((field) => known.has(field)) && provides.some((field) => !known.has(field)),
    );
    hasGrown = ready.length > 0;
    for (const one of ready)
      for (const field of one.provides)
        if (!known.has(field)) {
          known.add(field);
          providers.set(field, one);
        }
  }
  if (!to.every((field) => known.has(field))) return undefined;
  const available = new Set(from);
  const order: Capability[] = [];
  const addProviderOf = (field: string): void => {
    const giver = providers.get(field);
    if (available.has(field) || giver === undefined || order.includes(giver)) return;
    for (const required of giver.requires) addProviderOf(required);
    order.push(giver);
    for (const provided of giver.provides) available.add(provided);
  };
  for (const field of to) addProviderOf(field);
  return { steps: order.map(({ id, requires, provides }) => ({ capability_id: id, takes: requires, gives: provides })), from, to };
}

/** Runs the steps as one caller within one trace. Each step receives what it takes of all fields known so far. Throws `PacketError`. */
export async function runChain(
  { steps }: ChainPlan,
  payload: JsonObject,
  options: RunOptions & { readonly dryRun?: boolean },
  run: RunCapability,
): Promise<ChainRan> {
  if (options.dryRun === true) return { steps, result: payload };
  const done: (Step & { readonly execution_time_ms: number })[] = [];
  let known = payload;
  let { context } = options;
  for (const step of steps) {
    const taken = Object.fromEntries(Object.entries(known).filter(([field]) => step.takes.includes(field)));
    try {
      const { result, execution_time_ms, trace_id } = await run(step.capability_id, taken, { ...options, context });
      context = { ...context, trace_id };
      known = { ...known, ...(isJsonObject(result) ? result : {}) };
      done.push({ ...step, execution_time_ms });
    } catch (error) {
      if (!(error instanceof PacketError)) throw error;
      throw new PacketError(
        error.type,
        `Step ${done.length + 1} (${step.capability_id}) failed: ${error.message}`,
        { ...error.details, step: step.capability_id, done: done.length },
        { cause: error },
      );
    }
  }
  return { steps: done, result: known };
}
