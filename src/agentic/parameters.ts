import type { Bag, Json } from "../contract/index.ts";
import type { Action } from "./agentic-service.ts";
import { isBag, toJsonSchema } from "./plain-json.ts";

/** How a tool's arguments, which are always one object, become what an action takes. */
export interface Signature {
  readonly inputSchema: Bag;
  /** Through `service.execute` (one input), or the action's own `execute` (several). */
  readonly input: (args: Bag) => readonly unknown[];
}

const NOTHING: Bag = { type: "object", properties: {}, additionalProperties: false };

/** No parameter: no arguments. One object: its own schema. One other value: wrapped under its title. Several: one property each, in order. */
export function signatureOf(action: Action): Signature {
  const parameters = action.parameters ?? (action.schema === undefined || action.schema === false ? [] : [action.schema]);
  const schemas = parameters.map(toJsonSchema);
  const [first] = schemas;
  if (first === undefined) return { inputSchema: NOTHING, input: () => [] };
  if (schemas.length === 1 && first["type"] === "object") return { inputSchema: first, input: (args) => [args] };
  const names = namesOf(schemas);
  const properties: Record<string, Json> = {};
  for (const [i, schema] of schemas.entries()) properties[names[i] ?? ""] = schema;
  // A parameter with a default may be left out, but only after all that may not.
  let count = schemas.length;
  while (count > 0 && schemas[count - 1]?.["default"] !== undefined) count -= 1;
  return {
    inputSchema: { type: "object", properties, required: names.slice(0, count), additionalProperties: false },
    input: (args) => names.map((name, i) => (Object.hasOwn(args, name) ? args[name] : schemas[i]?.["default"])),
  };
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

function namesOf(schemas: readonly Bag[]): readonly string[] {
  const taken = new Set<string>();
  return schemas.map((schema, i) => {
    const { title } = schema;
    const wanted = typeof title === "string" && NAME.test(title) ? title : schemas.length === 1 ? "input" : `arg${i}`;
    const name = taken.has(wanted) ? `arg${i}` : wanted;
    taken.add(name);
    return name;
  });
}

/** What a client reads about a state before it reads the state. */
export function describeState(schema: unknown): { readonly title?: string; readonly description?: string } {
  const plain = toJsonSchema(schema);
  const { title, description } = isBag(plain) ? plain : {};
  return { ...(typeof title === "string" ? { title } : {}), ...(typeof description === "string" ? { description } : {}) };
}
