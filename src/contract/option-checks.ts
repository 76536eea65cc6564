import { TroupeError } from "./errors.ts";
import { isBag } from "./json.ts";
import { nearest } from "./nearest.ts";

/** What an option has to be, in words that follow "has to be", and whether a value is. */
export type OptionRule = readonly [words: string, fits: (value: unknown) => boolean];

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

export const ABOVE_ZERO: OptionRule = ["a number above 0", (value) => isNumber(value) && value > 0];
export const FUNCTION: OptionRule = ["a function", (value) => typeof value === "function"];
export const TEXTS: OptionRule = ["a list of texts", (value) => Array.isArray(value) && value.every((one) => typeof one === "string")];
export const RATE: OptionRule = [
  "{ perSecond, burst }, perSecond above 0 and burst at least 1, or false for no limit",
  (value) =>
    value === false ||
    (isBag(value) && isNumber(value["perSecond"]) && value["perSecond"] > 0 && isNumber(value["burst"]) && value["burst"] >= 1),
];

export function oneOf(...names: readonly string[]): OptionRule {
  return [names.map((name) => JSON.stringify(name)).join(" or "), (value) => names.some((name) => name === value)];
}

/** Bounds, each under a name that is known. */
export function boundsOf(known: object): OptionRule {
  const names = Object.keys(known);
  return [
    `bounds, each a number of at least 0, from among ${names.join(", ")}`,
    (value) => isBag(value) && Object.entries(value).every(([name, bound]) => names.includes(name) && isNumber(bound) && bound >= 0),
  ];
}

/** Whoever writes plain JavaScript has no compiler that says it. Absent options fit. Throws `DOOR_OPTION`, naming the first that does not. */
export function checkOptions(options: object, rules: Readonly<Record<string, OptionRule>>): void {
  for (const [name, value] of Object.entries(options)) {
    const rule = value !== undefined && Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule?.[1](value) === false) throw wrong(name, rule);
  }
}

/** The same of one that has to be there. */
export function checkNeeded(name: string, value: unknown, rule: OptionRule): void {
  if (!rule[1](value)) throw wrong(name, rule);
}

const wrong = (name: string, [words]: OptionRule): TroupeError => new TroupeError("DOOR_OPTION", `${name} has to be ${words}.`);

/**
 * What is misspelt would be read by nobody, and a door without its `auth` is open. Throws `DOOR_OPTION`, naming the first name
 * that `of` does not know and the one most likely meant. `ignored`: may be there, and nothing is made of it.
 */
export function onlyOptions(of: string, options: object, known: object, ignored: readonly string[] = []): void {
  const names = Object.keys(known);
  const unknown = Object.keys(options).find((name) => !names.includes(name) && !ignored.includes(name));
  if (unknown === undefined) return;
  const meant = nearest(unknown, names);
  const instead = meant === undefined ? "" : `, do you mean ${JSON.stringify(meant)}?`;
  throw new TroupeError(
    "DOOR_OPTION",
    `${of} has no option ${JSON.stringify(unknown)}${instead}${meant === undefined ? "." : ""} There are ${names.join(", ")}.`,
  );
}
