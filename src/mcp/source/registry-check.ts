import { FUNCTION, type ListName, type OptionRule, TroupeError } from "../../core/contract/index.ts";
import { ANNOTATIONS, ARGUMENT, HINTS, ICONS, firstInvalidField, OBJECT, SIZE, TASK, TEXT } from "../../core/contract/internal.ts";

const ARGUMENTS: OptionRule = [
  "a list of { name, title?, description?, required? }: texts, required a boolean; their values are text",
  (value) => Array.isArray(value) && value.every((one) => ARGUMENT[1](one)),
];
const COMPLETE: OptionRule = [
  "an object of functions by name",
  (value) => OBJECT[1](value) && Object.values(Object(value)).every((one) => typeof one === "function"),
];

const EVERY = { title: TEXT, icons: ICONS, meta: OBJECT };
const RULES: Readonly<Record<ListName, Readonly<Record<string, OptionRule>>>> = {
  tools: { ...EVERY, annotations: HINTS, task: TASK },
  resources: { ...EVERY, mimeType: TEXT, size: SIZE, annotations: ANNOTATIONS, list: FUNCTION, complete: COMPLETE },
  prompts: { ...EVERY, arguments: ARGUMENTS, complete: COMPLETE },
};

/** What clients would refuse the whole list over. Throws `BAD_DEFINITION`, naming the member. */
export function checkMembers(list: ListName, name: string, definition: { readonly describe?: unknown }): void {
  const wrong =
    firstInvalidField({ description: definition.describe }, { description: TEXT }) ?? firstInvalidField(definition, RULES[list]);
  if (wrong !== undefined) throw bad(list, name, wrong);
}

/** Names are there once, and what is completed is one of them. Throws `BAD_DEFINITION`. */
export function checkVariables(list: ListName, name: string, names: readonly string[], complete: object = {}): void {
  const what = list === "prompts" ? "argument" : "variable of its URI";
  const twice = names.find((one, at) => names.indexOf(one) !== at);
  if (twice !== undefined) throw bad(list, name, `${quoted(twice)} is there twice: give each ${what} a name of its own`);
  const unknown = Object.keys(complete).find((one) => !names.includes(one));
  if (unknown === undefined) return;
  const known = names.length === 0 ? "it has none" : `it has ${names.join(", ").slice(0, 200)}`;
  throw bad(list, name, `complete is for ${quoted(unknown)}, which is no ${what}: ${known}`);
}

const quoted = (name: string): string => JSON.stringify(name.slice(0, 60));

const bad = (list: ListName, name: string, why: string): TroupeError =>
  new TroupeError("BAD_DEFINITION", `${list}/${JSON.stringify(name)}: ${why}.`);
