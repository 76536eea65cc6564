// Owns: a request's query and body, checked by the JSON Schemas that its route declares. Does not own: what they mean (the routes).

import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import type { Json, JsonObject } from "../../core/contract/index.ts";
import { memoize } from "../../core/contract/internal.ts";
import { compilerFor } from "../../core/schema/index.ts";
import { type ConsoleRoute, RequestError, TEXT } from "./routes.ts";

type Declared = Pick<ConsoleRoute, "query" | "body">;

const compile = (schema: JsonObject): ValidateFunction => compilerFor(schema).compile(schema);

const bodyCheck = memoize((route: Declared) => (route.body === undefined ? undefined : compile(route.body)));
const queryCheck = memoize(({ query = {} }: Declared) =>
  compile({ type: "object", properties: Object.fromEntries(Object.entries(query).map(([name, { schema = TEXT }]) => [name, schema])) }),
);

/** Throws `BAD_REQUEST`. */
export function checkBody(route: Declared, body: JsonObject): void {
  const check = bodyCheck(route);
  if (check !== undefined && !check(body)) throw misfit("body", check.errors?.[0]);
}

/** Throws `BAD_REQUEST`. A parameter that the route does not have is ignored; one that is sent twice counts once. */
export function checkQuery(route: Declared, query: URLSearchParams): void {
  if (route.query === undefined || query.size === 0) return;
  const given: Record<string, Json> = {};
  for (const [name, { schema }] of Object.entries(route.query)) {
    const text = query.get(name);
    if (text !== null) given[name] = valueOf(text, schema);
  }
  const check = queryCheck(route);
  if (!check(given)) throw misfit("query", check.errors?.[0]);
}

/** A query has texts only. */
function valueOf(text: string, schema: JsonObject | undefined): Json {
  switch (schema?.["type"]) {
    case "integer":
    case "number":
      return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
    case "boolean":
      return text === "true" || text === "false" ? text === "true" : text;
    default:
      return text;
  }
}

function misfit(part: string, error: ErrorObject | undefined): RequestError {
  const place = error?.instancePath.slice(1, 200).replaceAll("/", ".") ?? "";
  const { allowedValues, additionalProperty }: { readonly allowedValues?: readonly unknown[]; readonly additionalProperty?: string } =
    error?.params ?? {};
  const wrong =
    allowedValues !== undefined
      ? `must be one of ${allowedValues.map((value) => JSON.stringify(value)).join(", ")}`
      : additionalProperty !== undefined
        ? `must not have ${JSON.stringify(additionalProperty.slice(0, 100))}`
        : (error?.message ?? "does not fit");
  return new RequestError(400, "BAD_REQUEST", `The ${part}${place === "" ? "" : `'s ${place}`} ${wrong}.`);
}
