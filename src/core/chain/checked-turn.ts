/** What a turn says beside its state, held to be what it must be: a behaviour may be written without types, or run foreign code. */
import { TroupeError, type Json, type Reply, isBag } from "../contract/index.ts";
import { DEFAULT_BOUND, isJson, isObject, notJson, type Allowance } from "./json-check.ts";

// One for all: a walk ends before the next begins, and every turn would pay for its own.
const allowance: Allowance = { left: 0 };

function fits(value: unknown): value is Json {
  allowance.left = DEFAULT_BOUND;
  return isJson(value, 0, allowance);
}

const notFit = (value: unknown, name: string): TroupeError<"BAD_TURN"> =>
  new TroupeError("BAD_TURN", `A turn's ${notJson(value, name, allowance).message}`);

/** Throws `BAD_TURN`, naming the place (as `name.…`), unless it is JSON that text can carry unchanged. */
export function checkTold(value: unknown, name: string): asserts value is Json {
  if (!fits(value)) throw notFit(value, name);
}

/** Throws `BAD_TURN` unless it is one of the three replies, and JSON. */
export function checkReply(reply: unknown, name: string): asserts reply is Reply {
  if (!isObject(reply)) throw noReply(name);
  const { ok } = reply;
  if (ok !== undefined) {
    const keys = Object.keys(reply);
    if (keys.length !== 1 || keys[0] !== "ok") throw noReply(name);
    if (!fits(ok)) throw notFit(ok, `${name}.ok`);
    return;
  }
  checkTold(reply, name);
  const { refused, needs } = reply;
  const isRefusal = isBag(refused) && typeof refused["code"] === "string" && typeof refused["message"] === "string";
  if (!isRefusal && !isBag(needs)) throw noReply(name);
}

/** Throws `BAD_TURN` unless each says how far it is. */
export function checkSteps(report: unknown): void {
  if (isBag(report) && Object.values(report).every(isStep)) return;
  throw new TroupeError("BAD_TURN", "A turn's report is by the ids of messages, each `{ done, total?, text? }`: numbers, and a text.");
}

const isStep = (step: unknown): boolean =>
  isObject(step) &&
  Number.isFinite(step["done"]) &&
  (step["total"] === undefined || Number.isFinite(step["total"])) &&
  (step["text"] === undefined || typeof step["text"] === "string");

const noReply = (name: string): TroupeError<"BAD_TURN"> =>
  new TroupeError("BAD_TURN", `A turn's ${name} is no reply: give \`ok\`, \`refused\` or \`needs\`.`);
