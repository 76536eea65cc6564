import { TroupeError } from "./errors.ts";
import { isBag } from "./json.ts";
import { nearest } from "./nearest.ts";
import { isTexts } from "./texts.ts";

/** What an option has to be, in words that follow "has to be", and whether a value is. */
export type OptionRule = readonly [words: string, fits: (value: unknown) => boolean];

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

export const ABOVE_ZERO: OptionRule = ["a number above 0", (value) => isNumber(value) && value > 0];
export const FUNCTION: OptionRule = ["a function", (value) => typeof value === "function"];
export const TEXTS: OptionRule = ["a list of texts", isTexts];
export const RATE: OptionRule = [
  "{ perSecond, burst }, perSecond above 0 and burst at least 1, or false for no limit",
  (value) =>
    value === false ||
    (isBag(value) && isNumber(value["perSecond"]) && value["perSecond"] > 0 && isNumber(value["burst"]) && value["burst"] >= 1),
];

/** What `actor()` makes, or a behaviour by hand. */
export const KINDS: OptionRule = [
  'a list of kinds, as actor("name", { … }) makes them',
  (value) => Array.isArray(value) && value.every((one) => isBag(one) && typeof one["receive"] === "function"),
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

/** The options there are, and what each has to be; `true`: whoever uses it finds out. */
export type OptionTable<O> = Readonly<Record<keyof O, OptionRule | true>>;

/**
 * Whoever writes plain JavaScript has no compiler that says it, what is misspelt would be read by nobody, and a door without its
 * `auth` is open. Absent options fit. Throws `DOOR_OPTION`, naming the first that `of` does not know and the one most likely
 * meant, or the first that is not what it has to be. `ignored`: may be there, and nothing is made of it.
 */
export function checkOptions<O extends object>(
  of: string,
  options: O,
  table: OptionTable<NoInfer<O>>,
  ignored: readonly string[] = [],
): void {
  const rules = new Map<string, OptionRule | true>(Object.entries(table));
  for (const [name, value] of Object.entries(options)) {
    const rule = rules.get(name);
    if (rule === undefined && !ignored.includes(name)) throw unknown(of, name, [...rules.keys()]);
    if (value !== undefined && rule !== undefined && rule !== true) checkNeeded(name, value, rule);
  }
}

/** The same of one that has to be there. */
export function checkNeeded(name: string, value: unknown, [words, fits]: OptionRule): void {
  if (!fits(value)) throw new TroupeError("DOOR_OPTION", `${name} has to be ${words}.`);
}

function unknown(of: string, name: string, known: readonly string[]): TroupeError {
  const meant = nearest(name, known);
  const instead = meant === undefined ? "." : `, do you mean ${JSON.stringify(meant)}?`;
  return new TroupeError("DOOR_OPTION", `${of} has no option ${JSON.stringify(name)}${instead} There are ${known.join(", ")}.`);
}
