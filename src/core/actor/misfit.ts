import { describeIssues } from "../schema/index.ts";
import type { Check } from "./schema.ts";

/**
 * How a state does not fit its schema, where that may be why the author's code failed. A stored one is as its turns left it, and nobody
 * looks at it again but here, where something failed as code does that finds another shape than it was written for.
 */
export type Misfit = (error: unknown, state: unknown) => string | undefined;

const MOST_LOOKS = 10_000;
const MOST_SHOWN = 8;

export const misfitOf =
  (check: Check): Misfit =>
  (error, state) => {
    if (!(error instanceof TypeError)) return undefined;
    try {
      const { issues, value } = { value: undefined, ...check(state) };
      const lacks = issues === undefined ? lacking(state, value) : [];
      if (issues === undefined && lacks.length === 0) return undefined;
      const how = issues === undefined ? `it lacks ${lacks.join(", ")}` : describeIssues(issues);
      return `the state it was given does not fit its schema (${how}): what is new in a state needs \`version\` and \`migrate\``;
    } catch {
      // A schema that fails says nothing of the state.
      return undefined;
    }
  };

/** What a schema's defaults would have filled in: a first state has them, an old one has not. */
function lacking(state: unknown, filled: unknown): readonly string[] {
  const found: string[] = [];
  const waiting: (readonly [path: string, state: object, filled: object])[] = [];
  const meet = (path: string, one: unknown, other: unknown): void => {
    if (isObject(one) && isObject(other)) waiting.push([path, one, other]);
  };
  meet("", state, filled);
  for (let looks = 0; waiting.length > 0 && looks < MOST_LOOKS && found.length < MOST_SHOWN; looks += 1) {
    const [path, one, other] = waiting.shift() ?? ["", {}, {}];
    for (const [name, value] of Object.entries(other)) {
      const at = path === "" ? name : `${path}.${name}`;
      if (value === undefined) continue;
      if (Object.hasOwn(one, name)) meet(at, Reflect.get(one, name), value);
      else found.push(at);
    }
  }
  return found.slice(0, MOST_SHOWN);
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
