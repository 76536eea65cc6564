import type { GuestCall, GuestOutcome, HostCall } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import type { ImportName } from "../component/world.ts";
import { Budget } from "./memory.ts";
import { GuestKilled, GuestTrap } from "./webassembly.ts";
import { type CallHost, localAnswers, type LocalFacts } from "./imports.ts";
import { importOf } from "./world-functions.ts";
import { isList, isRecord } from "./codec.ts";
import type { Instance } from "./instance.ts";

/** What of a call its worker needs. It can be sent there. */
export type LocalCall = LocalFacts & Pick<GuestCall, "export" | "params" | "limits">;

type Ended<Outcome> = Outcome extends unknown ? Omit<Outcome, "host"> : never;

/** Its ends but those that only the worker's keeper sees: `lost`, and killed for its time. */
export type CallOutcome = Ended<Exclude<GuestOutcome, { readonly end: "lost" }>>;

/** How the imports that wait are asked for. A throw: the guest is given `{ err }`, where the import has one; else it is a trap. */
export type Wait = (name: ImportName, args: readonly WitValue[]) => Promise<WitValue>;

/** Hears of each import answered at once, as it is: the guest may never come back to tell. */
type Told = (did: HostCall) => void;

/** In UTF-16 units. What is longer, a line of the log or a guest's error, is recorded cut, and followed by `CUT`. */
const LONGEST_TEXT = 65_536;
const CUT = "… [cut]";

/** Throws only where the instance is broken or in a call: whatever the guest does is an outcome. */
export async function runCall(instance: Instance, call: LocalCall, wait: Wait, told?: Told): Promise<CallOutcome> {
  const did: HostCall[] = [];
  try {
    const value = await instance.call(call.export, call.state, call.params, hostOf(call, wait, did, told));
    return { did, ...outcomeOf(value) };
  } catch (thrown) {
    if (thrown instanceof GuestKilled) return { did, end: "killed", why: thrown.why, message: thrown.message };
    if (thrown instanceof GuestTrap) return { did, end: "trap", message: thrown.message };
    throw thrown;
  }
}

function hostOf(call: LocalCall, wait: Wait, did: HostCall[], told: Told | undefined): CallHost {
  const { hostBytes, hostCalls, resultBytes } = call.limits;
  const answer = localAnswers(call);
  let made = 0;
  const count = (): void => {
    made += 1;
    if (made > hostCalls) throw new GuestKilled("host-calls", `The guest made more than ${hostCalls} host calls in one call.`);
  };
  return {
    at: call.at,
    seed: call.seed,
    count,
    passed: new Budget(hostBytes, "The guest's host calls passed more"),
    returned: new Budget(resultBytes, "The guest returned more"),
    answer(name, args) {
      count();
      const result = answer(name, args);
      const one: HostCall = {
        name,
        args: name === "runtime.log" ? args.map((line) => (typeof line === "string" ? cut(line) : line)) : args,
        result,
      };
      did.push(one);
      told?.(one);
      return result;
    },
    async wait(name, args) {
      count();
      const result = await wait(name, args).catch((thrown: unknown) => refused(name, thrown));
      did.push({ name, args, result });
      return result;
    },
  };
}

function refused(name: ImportName, thrown: unknown): WitValue {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (importOf(name).fallible) return { err: message };
  throw new GuestTrap(`${name} failed, and cannot tell the guest: ${message}`);
}

/** Never between the halves of a pair. */
function cut(text: string): string {
  if (text.length <= LONGEST_TEXT) return text;
  return text.slice(0, LONGEST_TEXT).replace(/[\uD800-\uDBFF]$/u, "") + CUT;
}

type Returned =
  | { readonly end: "ok"; readonly state: Uint8Array | undefined; readonly back: WitValue }
  | { readonly end: "error"; readonly message: string };

/** All exports give the state and what else comes back, or a sentence. */
function outcomeOf(value: WitValue): Returned {
  if (!isRecord(value)) throw new GuestTrap("The guest's export gives no result.");
  if (typeof value["err"] === "string") return { end: "error", message: cut(value["err"]) };
  const [state, back] = isList(value["ok"]) ? value["ok"] : [];
  return { end: "ok", state: state instanceof Uint8Array ? state : undefined, back: isList(back) ? back[0] : undefined };
}
