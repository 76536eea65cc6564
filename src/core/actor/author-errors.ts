// Owns: the sentences for mistakes in an author's code, found where they happen. Does not own: what a definition may hold
// (validate-definition.ts), refusals (replies.ts).
import { type Json, type StateMisfit, TroupeError } from "../contract/index.ts";
import { nameOf, pointerStep, shapeOf } from "../contract/internal.ts";
import { describeIssues, dottedPath } from "../schema/index.ts";
import type { Check } from "./schema.ts";

/** The author's turn did what cannot work: the message says what to do instead. */
export function badTurn(message: string, cause?: unknown): TroupeError<"BAD_TURN"> {
  return whereMade(new TroupeError("BAD_TURN", message, { cause }));
}

const PACKAGE = new URL("../..", import.meta.url).href;

/** The same error with the frames from the call of Troupe on: the first line in a log is the author's own. */
export function whereMade<E extends Error>(error: E): E {
  const frames = framesOf(error).split("\n");
  const first = frames.findIndex((frame) => frame.includes("file:") && !frame.includes(PACKAGE));
  if (first > 0) error.stack = `${error.name}: ${error.message}\n${frames.slice(first).join("\n")}`;
  return error;
}

/**
 * What an author's code threw, as it is thrown on: mistakes that only the language reports, in its own words, get a sentence, and so
 * does a state of another shape than the code expects (`misfit`). The frames stay those of the author's code.
 */
export function explained(action: string, error: unknown, misfit: string | undefined): unknown {
  const why = reasonFor(error) ?? (misfit && `threw TypeError, and ${misfit}.`);
  return why === undefined || !(error instanceof Error) ? error : withFramesOf(error, badTurn(`${action} ${why}`, error));
}

function reasonFor(error: unknown): string | undefined {
  if (error instanceof DOMException && error.name === "DataCloneError")
    return "cloned what cannot be cloned, as no draft of `ctx.state` can: copy it with JSON.parse(JSON.stringify(value)).";
  if (!(error instanceof TypeError)) return undefined;
  const { message } = error;
  if (/\brevoked\b/.test(message))
    return "used a draft of a turn that is over: copy what you keep beyond a turn (JSON.parse(JSON.stringify(value))), or read it from `ctx.state` again.";
  if (/\bread only\b|\bnot extensible\b|Cannot (?:delete|redefine) property|trap returned falsish/.test(message))
    return "wrote to something frozen: states, and what messages bring, are. Write to `ctx.state` of `run` and `work`, or to a copy.";
  return undefined;
}

/** `error`, with the frames of its cause. */
function withFramesOf<E extends Error>(cause: Error, error: E): E {
  error.stack = `${error.name}: ${error.message}\n${framesOf(cause)}`;
  return error;
}

function framesOf({ stack = "", message }: Error): string {
  return stack.slice(stack.indexOf(message) + message.length).replace(/^[^\n]*\n/, "");
}

/** For the server's log, when `property` of an offer or link threw. Does not repeat the text of `cause`, which may hold state. */
export function outOfOrder(what: string, property: string, cause: unknown, misfit?: string): TroupeError {
  if (cause instanceof TroupeError && cause.code === "OUT_OF_ORDER") return cause;
  const error = new TroupeError(
    "OUT_OF_ORDER",
    `${what} is out of order: its \`${property}\` threw ${nameOf(cause)}${misfit === undefined ? "" : `, and ${misfit}`}. Mend it; the rest works.`,
    { cause },
  );
  return cause instanceof Error ? withFramesOf(cause, error) : error;
}

/** Thrown when `property` of an offer or link returned something else than it must. */
export function wrongResult(what: string, property: string, given: unknown, wanted: string): TroupeError {
  return new TroupeError("OUT_OF_ORDER", `${what} is out of order: its \`${property}\` gave ${shapeOf(given)}: give ${wanted}.`);
}

// ── a state that does not fit its schema ────────────────────────────────────

/**
 * How a state does not fit its schema, if that may be why the author's code threw. A stored state is as its turns left it and is not
 * checked on load; only here, where code failed as it does on an unexpected shape.
 */
export type Misfit = (error: unknown, state: unknown) => string | undefined;

const MOST_LOOKS = 10_000;
const MAX_REPORTED = 8;

export const misfitOf =
  (check: Check): Misfit =>
  (error, state) => {
    if (!(error instanceof TypeError)) return undefined;
    try {
      const { issues, value } = { value: undefined, ...check(state) };
      const lacks = issues === undefined ? missingDefaults(state, value) : [];
      if (issues === undefined && lacks.length === 0) return undefined;
      const how = issues === undefined ? `it lacks ${lacks.map(dottedPath).join(", ")}` : describeIssues(issues);
      return `the state it was given does not fit its schema (${how}): what is new in a state needs \`version\` and \`migrate\``;
    } catch {
      // A schema that throws proves nothing about the state.
      return undefined;
    }
  };

/** JSON Pointers to values that the schema's defaults would have filled in. A first state has them, an old one may not. */
function missingDefaults(state: unknown, filled: unknown): readonly string[] {
  const found: string[] = [];
  const queue: (readonly [pointer: string, state: object, filled: object])[] = [];
  const visit = (pointer: string, one: unknown, other: unknown): void => {
    if (isObject(one) && isObject(other)) queue.push([pointer, one, other]);
  };
  visit("", state, filled);
  for (let looks = 0; looks < MOST_LOOKS && found.length < MAX_REPORTED; looks += 1) {
    const next = queue.shift();
    if (next === undefined) break;
    const [pointer, one, other] = next;
    for (const [name, value] of Object.entries(other)) {
      if (value === undefined) continue;
      const at = pointer + pointerStep(name);
      if (Object.hasOwn(one, name)) visit(at, Reflect.get(one, name), value);
      else found.push(at);
    }
  }
  return found.slice(0, MAX_REPORTED);
}

const MOST_MISFITS = 20;
const MAX_LENGTH = 300;

/** Where a state does not fit: for one that no turn made, such as an operator's edit. */
export const stateMisfits =
  (check: Check) =>
  (state: Json): readonly StateMisfit[] => {
    try {
      const checked = check(state);
      const issues =
        checked.issues ??
        missingDefaults(state, checked.value).map((pointer) => ({ pointer, message: "is missing: its default is for a first state only" }));
      const found = issues.slice(0, MOST_MISFITS).map(({ pointer, message }) => ({ path: pointer, message: message.slice(0, MAX_LENGTH) }));
      return found.length === 0 && !isObject(state) ? [{ path: "", message: "must be an object" }] : found;
    } catch (error) {
      return [{ path: "", message: `cannot be checked: the schema threw ${nameOf(error)}` }];
    }
  };

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
