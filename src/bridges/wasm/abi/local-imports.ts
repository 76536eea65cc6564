import type { GuestCall } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import type { ImportName } from "../world/interfaces.ts";
import { unfit } from "./codec.ts";
import { GuestRandom } from "./random.ts";

/** What the answers follow from. */
export type LocalFacts = Pick<GuestCall, "state" | "at" | "seed" | "variables" | "listVariables" | "random" | "outstanding" | "children">;

type Answer = (facts: Answering, args: readonly WitValue[]) => WitValue;

interface Answering extends LocalFacts {
  readonly drawn: GuestRandom;
}

const RANDOM_BYTES = 1_048_576;
const RANDOM_INT = 2n ** 63n - 1n;

function number(value: WitValue): number {
  if (typeof value !== "number") throw unfit("a number");
  return value;
}

function bigint(value: WitValue): bigint {
  if (typeof value !== "bigint") throw unfit("u64");
  return value;
}

/** Own properties only: `constructor` is no variable. */
function variable({ variables }: LocalFacts, name: WitValue): string | undefined {
  return typeof name === "string" && Object.hasOwn(variables, name) ? variables[name] : undefined;
}

const ANSWERS: Readonly<Partial<Record<ImportName, Answer>>> = {
  "runtime.log": () => undefined,
  "runtime.get-state": ({ state }) => state,
  "timing.now": ({ at }) => BigInt(at),
  "message-server-host.list-outstanding-requests": ({ outstanding }) => outstanding,
  "supervisor.list-children": ({ children }) => children,
  "environment.get-var": (facts, [name]) => variable(facts, name),
  "environment.exists": (facts, [name]) => variable(facts, name) !== undefined,
  "environment.list-vars": ({ variables, listVariables = true }) => (listVariables ? Object.entries(variables) : []),
  "random.random-bytes"({ drawn, random }, [length]) {
    const most = random?.maxBytes ?? RANDOM_BYTES;
    if (number(length) > most) return { err: `At most ${most} random bytes at a time: ask for fewer.` };
    return { ok: drawn.bytes(number(length)) };
  },
  "random.random-range"({ drawn, random }, [min, max]) {
    const most = random?.maxInt ?? RANDOM_INT;
    if (bigint(min) >= bigint(max)) return { err: "The range is empty: min must be below max." };
    if (bigint(max) > most) return { err: `The range ends above ${most}: choose a smaller max.` };
    return { ok: drawn.range(bigint(min), bigint(max)) };
  },
  "random.random-float": ({ drawn }) => ({ ok: drawn.float() }),
  "random.generate-uuid": ({ drawn }) => ({ ok: drawn.uuid() }),
};

/** True: the import is answered where the guest runs, the others by its host. */
export const answeredAtOnce = (name: ImportName): boolean => Object.hasOwn(ANSWERS, name);

/** What is asked of `answeredAtOnce` imports during one call. */
export function localAnswers(facts: LocalFacts): (name: ImportName, args: readonly WitValue[]) => WitValue {
  let answering: Answering | undefined;
  return (name, args) => {
    answering ??= { ...facts, drawn: new GuestRandom(facts.seed) };
    return ANSWERS[name]?.(answering, args);
  };
}
