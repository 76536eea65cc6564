import { isJsonObject, TroupeError } from "../../core/contract/index.ts";
import { closestMatch } from "../../core/contract/internal.ts";
import { isStandard } from "../../core/schema/index.ts";
import { PERSISTENCES } from "./packet-fields.ts";

// Types are gone when a module is served: a misspelled `persistence` would lose what was to be kept, and say nothing.

/** What every capability says of itself. */
export const DESCRIBED = ["intent", "requires", "provides", "effects", "parameters"] as const;

const ACTOR = [
  ...DESCRIBED,
  "initialState",
  "state",
  "persistence",
  "timeout",
  "shared",
  "version",
  "migrate",
  "messages",
  "periodic",
  "search",
  "policy",
] as const;
const HANDLER = ["match", "run", "work", "view"] as const;
const PERIODIC = ["everyMs", "run"] as const;
const POLICY = ["workMs", "mailbox", "maxStateBytes", "restart"] as const;
const LEVELS: ReadonlySet<unknown> = new Set(["debug", "info", "warning", "error"]);

export const badDefinition = (sentence: string): TroupeError => new TroupeError("BAD_DEFINITION", sentence);

/** Throws `BAD_DEFINITION` for what is no object, and for a word that nobody reads. */
export function onlyWords(where: string, given: unknown, words: readonly string[]): void {
  if (!isObject(given)) throw badDefinition(`${where} is no object: give { ${words.join(", ")} }, those of them it needs.`);
  const unknown = Object.keys(given).find((word) => !words.includes(word));
  if (unknown === undefined) return;
  const meant = closestMatch(unknown, words);
  throw badDefinition(
    `${where}: there is no ${JSON.stringify(unknown)}${meant === undefined ? "." : `, do you mean ${JSON.stringify(meant)}?`} There are ${words.join(", ")}.`,
  );
}

/** Throws `BAD_DEFINITION`. */
export function checkActorWords(id: string, definition: { readonly [W in (typeof ACTOR)[number]]?: unknown }): void {
  onlyWords(id, definition, ACTOR);
  const { initialState, state, persistence, timeout, shared, migrate, messages, periodic, search, policy } = definition;
  if (!isObject(initialState) && typeof initialState !== "function")
    throw badDefinition(`${id} has no \`initialState\`: give what each actor begins with, { count: 0 }, or a function that makes it.`);
  if (state !== undefined && !isStandard(state))
    throw badDefinition(
      `${id}: \`state\` is a Standard Schema (zod, ArkType, …) of the state; what actors begin with is \`initialState\`.`,
    );
  if (persistence !== undefined && !PERSISTENCES.some((known) => known === persistence))
    throw badDefinition(`${id}: persistence is one of ${PERSISTENCES.join(", ")}, not ${shown(persistence)}.`);
  if (timeout !== undefined && !isTimeout(timeout))
    throw badDefinition(`${id}: timeout is idle(ms), lifetime(ms), never or a function, not ${shown(timeout)}.`);
  if (shared !== undefined && typeof shared !== "boolean") throw badDefinition(`${id}: shared is true or false, not ${shown(shared)}.`);
  if (migrate !== undefined && typeof migrate !== "function") throw badDefinition(`${id}: migrate is a function ({ state, from }).`);
  if (policy !== undefined) onlyWords(`${id}: policy`, policy, POLICY);
  if (search !== undefined && !isTexts(search))
    throw badDefinition(`${id}: search is a list of fields, ["payload:text"], not ${shown(search)}.`);
  for (const [name, handler] of entriesOf(id, "messages", messages)) {
    const where = `${id}: messages.${name}`;
    onlyWords(where, handler, HANDLER);
    functionsOf(where, handler, ["run", "work", "view"]);
    const match: unknown = Reflect.get(Object(handler), "match");
    if (match !== undefined && Object(match) !== match)
      throw badDefinition(`${where}: match is a part of the payload or a schema, not ${shown(match)}.`);
  }
  if (periodic === undefined) return;
  for (const [name, every] of entriesOf(id, "periodic", periodic)) {
    const where = `${id}: periodic.${name}`;
    onlyWords(where, every, PERIODIC);
    functionsOf(where, every, ["run"]);
    if (Reflect.get(Object(every), "run") === undefined) throw badDefinition(`${where} does nothing: give \`run\`.`);
  }
}

/** Throws `BAD_DEFINITION` for an effect nobody would know what to do with. */
export function checkEffects(id: string, effects: unknown): void {
  const wrong: unknown = Array.isArray(effects) ? effects.find((one: unknown) => !isEffect(one)) : effects;
  if (wrong !== undefined || !Array.isArray(effects))
    throw badDefinition(`${id}: effects is a list of auditLog(level, name), counter(name) and histogram(name); ${shown(wrong)} is none.`);
}

function isEffect(one: unknown): boolean {
  if (!isJsonObject(one)) return false;
  const { effect, level, metric, name } = one;
  if (typeof name !== "string" || name === "") return false;
  return effect === "audit_log" ? LEVELS.has(level) : effect === "metric" && (metric === "counter" || metric === "histogram");
}

function isTimeout(timeout: unknown): boolean {
  if (typeof timeout === "function") return true;
  if (!isJsonObject(timeout)) return false;
  const { ends, ms } = timeout;
  return ends === "never" || ((ends === "idle" || ends === "lifetime") && typeof ms === "number" && Number.isFinite(ms) && ms > 0);
}

export function entriesOf(id: string, word: string, given: unknown): readonly (readonly [string, unknown])[] {
  if (isObject(given) && !Array.isArray(given)) return Object.entries(given);
  throw badDefinition(`${id}: ${word} is an object, each of them under its name, not ${shown(given)}.`);
}

function functionsOf(where: string, given: unknown, words: readonly string[]): void {
  for (const word of words) {
    const value: unknown = Reflect.get(Object(given), word);
    if (value !== undefined && typeof value !== "function") throw badDefinition(`${where}: ${word} is a function, not ${shown(value)}.`);
  }
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

export const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === "string" && one !== "");

export const shown = (value: unknown): string =>
  (typeof value === "function" ? "a function" : (JSON.stringify(value) ?? String(value))).slice(0, 60);
