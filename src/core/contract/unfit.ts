/**
 * What a message brought that no text carries. It is looked for once something has failed on it: nearly all messages are JSON, and
 * to walk each would be paid for by every call.
 */
import type { ActorId, Message, Reply } from "./actor.ts";
import { EngineError, StoreError } from "./errors.ts";
import { DEEPEST } from "./freeze.ts";

const BROUGHT = ["args", "start", "answers", "viewer", "policy", "trace"] as const;
/** Parts that are shared many times over are not walked for ever. */
const MOST_VALUES = 1_000_000;
const LONGEST_PATH = 200;
const HALF = "holds half a character (a lone surrogate): pass whole characters, bytes as base64";

type Brought = Partial<Pick<Message, (typeof BROUGHT)[number]>>;

interface Unfit {
  readonly path: string;
  readonly why: string;
}

/**
 * The refusal for a message on which a turn or a view threw `error`, where the message may be to blame: what it brought breaks on
 * the way into a state, a reply or another message. Undefined: it was sound, or the error is no behaviour's.
 */
export function blamed(error: unknown, message: Brought): Extract<Reply, { refused: unknown }> | undefined {
  if (error instanceof StoreError || (error instanceof EngineError && error.code !== "STATE_NOT_JSON")) return undefined;
  const unfit = unfitIn(message);
  if (unfit === undefined) return undefined;
  const [, within] = /^args\.?(.*)$/s.exec(unfit.path) ?? [];
  const { path, why } = { ...unfit, path: within ?? unfit.path };
  const what = within === undefined ? "message" : "arguments";
  const said = path === "" ? why : `${path}: ${why}`;
  return { refused: { code: "INVALID", message: `Invalid ${what}: ${said}.`, data: { issues: [{ path, message: why }] } } };
}

/** Why a message cannot be written down, for whoever sends it. Undefined: not because of what it brings. */
export function unsendable(to: ActorId, message: Brought): EngineError | undefined {
  const unfit = unfitIn(message);
  return unfit && new EngineError("BAD_TURN", `A message to ${to} is no JSON: ${unfit.path} ${unfit.why}.`);
}

function unfitIn(message: Brought): Unfit | undefined {
  const left = { values: MOST_VALUES };
  for (const name of BROUGHT) {
    const unfit = find(message[name], name, 0, left);
    if (unfit !== undefined) return unfit.path.length > LONGEST_PATH ? { ...unfit, path: `${unfit.path.slice(0, LONGEST_PATH)}…` } : unfit;
  }
  return undefined;
}

// What JSON leaves out or writes as something else breaks nothing.
function find(value: unknown, path: string, depth: number, left: { values: number }): Unfit | undefined {
  if (typeof value === "string") return value.isWellFormed() ? undefined : { path, why: HALF };
  if (typeof value === "bigint") return { path, why: "is a BigInt: pass its text" };
  if (typeof value !== "object" || value === null || (left.values -= 1) < 0) return undefined;
  if (depth > DEEPEST) return { path, why: "is nested too deep, or holds itself: pass less" };
  for (const [key, item] of Object.entries(value)) {
    const at = `${path}.${key.toWellFormed()}`;
    const unfit = key.isWellFormed() ? find(item, at, depth + 1, left) : { path: at, why: HALF };
    if (unfit !== undefined) return unfit;
  }
  return undefined;
}
