import type { Json } from "../../../core/contract/index.ts";
import type { Given } from "../host/given.ts";
import { isList } from "../host/values.ts";
import type { GuestHost } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import type { ImportName } from "../world/interfaces.ts";

/** A host call as its event has it, with its result as the guest was given it. */
export interface Recorded {
  readonly name: string;
  readonly args: readonly Json[];
  readonly result: WitValue;
}

/** Answers from the record, in its order: nothing is done a second time. */
export class RecordedHost implements GuestHost {
  readonly #did: readonly Recorded[];
  #next = 0;
  /** The first call that the record does not have. */
  strayed: string | undefined;

  constructor(did: readonly Recorded[]) {
    this.#did = did;
  }

  /** From the first call on. */
  again(): this {
    this.#next = 0;
    this.strayed = undefined;
    return this;
  }

  // Those between were answered in the worker: they follow from the message and are compared with the rest afterwards.
  async call(name: ImportName): Promise<Given> {
    for (let at = this.#next; at < this.#did.length; at += 1) {
      const recorded = this.#did[at];
      if (recorded?.name !== name) continue;
      this.#next = at + 1;
      return { result: recorded.result };
    }
    this.strayed ??= name;
    throw new Error(`${name} was not called then: the record has no answer.`);
  }
}

/** The environment as that call saw it. */
export function variablesIn(did: readonly Recorded[]): Readonly<Record<string, string>> {
  const seen = new Map<string, string>();
  for (const { name, args, result } of did) {
    const [of] = args;
    if (name === "environment.list-vars" && isList(result)) {
      for (const pair of result) {
        const [key, value] = isList(pair) ? pair : [];
        if (typeof key === "string" && typeof value === "string") seen.set(key, value);
      }
    } else if (typeof of === "string") {
      if (name === "environment.get-var" && typeof result === "string") seen.set(of, result);
      if (name === "environment.exists" && result === true && !seen.has(of)) seen.set(of, "");
    }
  }
  return Object.fromEntries(seen);
}
