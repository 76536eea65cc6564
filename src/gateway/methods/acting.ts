import type { Bag, CallOptions, Receipt, Reply, Surface } from "../../contract/index.ts";
import { type Call, type Members, type Method, type Outcome, RECEIPT_META, SCOPES } from "../call.ts";
import { chain } from "../chain.ts";
import { Fault } from "../errors.ts";
import { bagIn, isArray } from "../json.ts";
import { indexOf, type Target } from "../offers.ts";
import { eraOf } from "../revision.ts";
import { CANNOT_ASK, cannotAsk, capabilityIn } from "./cannot-ask.ts";
import { type Kind, prompt, resource, tool } from "./kinds.ts";

interface Known {
  readonly call: Call;
  readonly answers: Bag | undefined;
  readonly receipts: boolean;
}
interface Resolved extends Known {
  readonly target: Target;
  /** Not there for this viewer now, as far as its surface says. */
  readonly hidden: boolean;
}
interface Checked {
  readonly known: Resolved;
  /** What is wrong with the arguments, for the caller's model to read. */
  readonly complaint: Members | undefined;
}
interface Acted {
  readonly call: Call;
  readonly target: Target;
  readonly reply: Reply | Members;
  readonly receipt: Receipt | undefined;
}

/** `tools/call`, `resources/read` and `prompts/get` go the same way: resolve, check (scope, arguments), act, encode. */
function acting(kind: Kind, receipts: boolean): Method {
  const resolve = (known: Known): Resolved | Promise<Resolved> => {
    const { call } = known;
    const surface = call.source.surface(call.viewer);
    const found = ({ catalogue, off }: Surface): Resolved => {
      const target = kind.target(call, indexOf(catalogue));
      return { call, answers: known.answers, receipts: known.receipts, target, hidden: off[target.ref] === true };
    };
    return surface instanceof Promise ? surface.then((one: Surface) => found(one)) : found(surface);
  };
  // Law 3: of what is hidden nothing is told, not even what it would take. Whether it is, the source decides again.
  const check = (known: Resolved): Checked => {
    const { call, target, hidden } = known;
    try {
      checkScopes(target, call.viewer.scopes);
      const complaint = kind.complain(call, target);
      if (complaint === undefined || !hidden) return { known, complaint };
    } catch (error) {
      if (!hidden) throw error;
    }
    throw kind.unknown(call, target);
  };
  const act = async ({ known, complaint }: Checked): Promise<Acted> => {
    const { call, target } = known;
    let receipt: Receipt | undefined;
    if (complaint !== undefined) return { call, target, reply: complaint, receipt };
    try {
      const options = optionsOf(known);
      if (known.receipts) {
        options.onReceipt = (one) => {
          receipt = one;
        };
      }
      const reply = await call.source.act(call.viewer, target.ref, kind.args(call, target), options);
      return { call, target, reply, receipt };
    } catch (error) {
      return { call, target, reply: kind.fail(error), receipt };
    }
  };
  const encode = ({ call, target, reply, receipt }: Acted): Outcome => {
    if ("members" in reply || "needs" in reply) return reply;
    if ("refused" in reply && reply.refused.code === CANNOT_ASK && eraOf(call.revision) === "modern")
      return cannotAsk(call, [capabilityIn(reply.refused)]);
    if ("refused" in reply && reply.refused.code === "UNKNOWN") throw kind.unknown(call, target);
    const made = "ok" in reply ? { members: kind.encode(call, target, reply.ok) } : kind.refuse(reply.refused);
    return receipt === undefined ? made : { ...made, meta: { ...made.meta, [RECEIPT_META]: { ...receipt } } };
  };
  const way = chain(resolve, check, act, encode);
  return (call, answers) => way({ call, answers, receipts });
}

type Options = { -readonly [key in keyof CallOptions]: CallOptions[key] };

function optionsOf({ call, answers }: Known): Options {
  const options: Options = { can: call.can };
  if (call.key !== undefined) options.key = call.key;
  if (answers !== undefined) options.answers = answers;
  if (call.trace !== undefined) options.trace = call.trace;
  if (call.signal !== undefined) options.signal = call.signal;
  if (call.onProgress !== undefined) options.onProgress = call.onProgress;
  if (call.onLog !== undefined) options.onLog = call.onLog;
  return options;
}

function checkScopes({ offer }: Target, scopes: readonly string[]): void {
  const wanted = bagIn(offer.definition, "_meta")?.[SCOPES];
  if (!isArray(wanted)) return;
  const missing = wanted.filter((one) => typeof one === "string").filter((one) => !scopes.includes(one));
  if (missing.length === 0) return;
  const list = missing.join(" ");
  throw new Fault("SCOPE", `This needs the scope ${list}; sign in again with it.`, {
    data: { scope: list },
    headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${list}"` },
  });
}

/** The acting methods; `receipts` says whether their results carry one. */
export function actingMethods(receipts: boolean): Readonly<Record<"tools/call" | "resources/read" | "prompts/get", Method>> {
  return { "tools/call": acting(tool, receipts), "resources/read": acting(resource, receipts), "prompts/get": acting(prompt, receipts) };
}
