// Owns: one call in an instance: its limits, the host calls it made, and its outcome. Does not own: the instance (instance.ts).
import type { GuestCall, GuestOutcome, HostCall } from "../sandbox.ts";
import { isList, isRecord, type WitValue } from "../wit.ts";
import type { ImportName } from "../component/world.ts";
import { messageOf } from "../wasm-error.ts";
import { Budget } from "./memory.ts";
import { GuestKilled, GuestTrap } from "./webassembly.ts";
import { type CallContext, localAnswers, type LocalContext } from "./imports.ts";
import { compiledImport } from "./world-functions.ts";
import type { Instance } from "./instance.ts";

/** The part of a call that its worker needs. Can be posted. */
export type LocalCall = LocalContext & Pick<GuestCall, "export" | "params" | "limits">;

type WithoutHost<Outcome> = Outcome extends unknown ? Omit<Outcome, "host"> : never;

/** The outcomes that occur in a worker. `lost`, and a kill for its time, are decided on the main thread. */
export type CallOutcome = WithoutHost<Exclude<GuestOutcome, { readonly end: "lost" }>>;

/** Answers imports that are not local. If it throws, the guest receives `{ err }`; an import without a WIT result traps. */
export type AnswerImport = (name: ImportName, args: readonly WitValue[]) => Promise<WitValue>;

/** Called at each local import: a guest that spins never returns the list. */
type OnLocalCall = (did: HostCall) => void;

/** In UTF-16 units. Longer log lines and errors of guests are truncated. */
const LONGEST_TEXT = 65_536;
const TRUNCATION_MARK = "… [cut]";

/** Throws only if the instance is broken or in a call. Whatever the guest does is an outcome. */
export async function runCall(instance: Instance, call: LocalCall, wait: AnswerImport, onLocalCall?: OnLocalCall): Promise<CallOutcome> {
  const did: HostCall[] = [];
  try {
    const value = await instance.call(call.export, call.state, call.params, contextOf(call, wait, did, onLocalCall));
    return { did, ...outcomeOf(value) };
  } catch (thrown) {
    if (thrown instanceof GuestKilled) return { did, end: "killed", why: thrown.why, message: thrown.message };
    if (thrown instanceof GuestTrap) return { did, end: "trap", message: thrown.message };
    throw thrown;
  }
}

function contextOf(call: LocalCall, wait: AnswerImport, did: HostCall[], onLocalCall: OnLocalCall | undefined): CallContext {
  const { hostBytes, hostCalls, resultBytes } = call.limits;
  const answer = localAnswers(call);
  let callCount = 0;
  const count = (): void => {
    callCount += 1;
    if (callCount > hostCalls) throw new GuestKilled("host-calls", `The guest made more than ${hostCalls} host calls in one call.`);
  };
  return {
    at: call.at,
    seed: call.seed,
    count,
    importBudget: new Budget(hostBytes, "The guest's host calls passed more"),
    resultBudget: new Budget(resultBytes, "The guest returned more"),
    answer(name, args) {
      count();
      const result = answer(name, args);
      const one: HostCall = {
        name,
        args: name === "runtime.log" ? args.map((line) => (typeof line === "string" ? truncated(line) : line)) : args,
        result,
      };
      did.push(one);
      onLocalCall?.(one);
      return result;
    },
    async wait(name, args) {
      count();
      const result = await wait(name, args).catch((thrown: unknown) => failedImport(name, thrown));
      did.push({ name, args, result });
      return result;
    },
  };
}

function failedImport(name: ImportName, thrown: unknown): WitValue {
  const message = messageOf(thrown);
  if (compiledImport(name).fallible) return { err: message };
  throw new GuestTrap(`${name} failed, and cannot tell the guest: ${message}`);
}

/** Does not split a surrogate pair. */
function truncated(text: string): string {
  if (text.length <= LONGEST_TEXT) return text;
  return text.slice(0, LONGEST_TEXT).replace(/[\uD800-\uDBFF]$/u, "") + TRUNCATION_MARK;
}

type Returned =
  | { readonly end: "ok"; readonly state: Uint8Array | undefined; readonly back: WitValue }
  | { readonly end: "error"; readonly message: string };

/** All exports return the state and a second value, or an error message. */
function outcomeOf(value: WitValue): Returned {
  if (!isRecord(value)) throw new GuestTrap("The guest's export gives no result.");
  if (typeof value["err"] === "string") return { end: "error", message: truncated(value["err"]) };
  const [state, back] = isList(value["ok"]) ? value["ok"] : [];
  return { end: "ok", state: state instanceof Uint8Array ? state : undefined, back: isList(back) ? back[0] : undefined };
}
