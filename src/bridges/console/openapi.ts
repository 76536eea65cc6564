// Owns: the API's description as an OpenAPI 3.1 document, made of its routes and of the schemas that the build makes of shapes.ts.
// Does not own: the routes, and their shapes.

import { isJsonObject, type JsonObject } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import type { ConsoleAssets } from "./assets.ts";
import { type ConsoleRoute, RequestError, TEXT } from "./routes.ts";

/** `GET /openapi.json`. `path`: where the API is. */
export function openApiRoute(routes: readonly ConsoleRoute[], path: string, assets: ConsoleAssets | undefined): ConsoleRoute {
  const own: ConsoleRoute = {
    verb: "GET",
    path: "/openapi.json",
    summary: "This API, as an OpenAPI 3.1 document.",
    answers: "JsonObject",
    async handle(_, { about }) {
      const file = assets?.find("/schemas.json");
      const schemas = file === undefined ? undefined : tryParseJson(new TextDecoder().decode(file.body));
      if (!isJsonObject(schemas))
        throw new RequestError(409, "NOT_AVAILABLE", "The description of the API is built with the page: give consoleFor its assets.");
      return openApiDocument({ routes: [...routes, own], schemas, path, version: about.version });
    },
  };
  return own;
}

interface OpenApiOptions {
  readonly routes: readonly Route[];
  /** JSON Schemas by name, with references to `#/definitions/…`. */
  readonly schemas: JsonObject;
  /** Where the API is: `/console/api`. */
  readonly path: string;
  readonly version: string;
}

type Route = Omit<ConsoleRoute, "handle">;

/** The document that tools and coding agents read. */
function openApiDocument({ routes, schemas, path, version }: OpenApiOptions): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const route of routes) {
    const at = (paths[openPath(route.path)] ??= {});
    at[route.verb.toLowerCase()] = operation(route);
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Troupe console",
      version,
      description:
        "Actors, their history, and what clients do, as the console's page reads them. Times are milliseconds since 1970. A page of a list ends with `next`, the value of `after` for the following page; without it there is no more.",
    },
    servers: [{ url: path }],
    security: [{ token: [] }],
    paths,
    components: {
      schemas: relocated(schemas),
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description:
            "The token in the link that the server prints or, where the server authenticates callers, an API key or access token with the scope troupe:operate.",
        },
      },
      responses: {
        Failure: { description: "Why not, and what to do instead.", ...content("application/json", reference("Failure")) },
      },
    },
  };
}

function operation(route: Route): JsonObject {
  const { verb, summary, query = {}, body, answers, streams } = route;
  const parameters = [
    ...Array.from(route.path.matchAll(/:(\w+)/g), ([, name = ""]) => ({
      name,
      in: "path",
      required: true,
      description: PATH_PARAMETERS[name] ?? name,
      schema: { type: "string" },
    })),
    ...Object.entries(query).map(([name, { description, schema = TEXT }]) => ({ name, in: "query", description, schema })),
  ];
  const events = { description: EVENTS, ...content("text/event-stream", { type: "string" }), "x-events": shapeOf(answers) };
  return {
    operationId: operationId(route),
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(verb === "POST" && { requestBody: { required: body !== undefined, ...content("application/json", body ?? { type: "object" }) } }),
    responses: {
      "200": streams === true ? events : { description: summary, ...content("application/json", shapeOf(answers)) },
      default: { $ref: "#/components/responses/Failure" },
    },
  };
}

const EVENTS =
  "Server-sent events, each with a name and JSON as its data. Operations send `progress`, then `done` with the shape named in `x-events`, or `failed`.";

const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  kind: "The actor's kind.",
  key: "The actor's key, percent-encoded.",
  id: "The id.",
  n: "The number of the row.",
};

/** `/actors/:kind/:key` → `/actors/{kind}/{key}` */
const openPath = (path: string): string => path.replaceAll(/:(\w+)/g, "{$1}");

/** `GET /actors/:kind/:key/events` → `getActorsKindKeyEvents` */
const operationId = ({ verb, path }: Route): string =>
  verb.toLowerCase() + path.replaceAll(/[^a-z]+(\w?)/gi, (_, letter: string) => letter.toUpperCase()) + (path === "/" ? "About" : "");

const content = (type: string, schema: JsonObject): JsonObject => ({ content: { [type]: { schema } } });
const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** What a route `answers`: the name of a shape, `Name[]`, `PageOf<Name>`, `null`, or `A | B`. */
function shapeOf(answers: string): JsonObject {
  const either = answers.split("|").map((one) => one.trim());
  if (either.length > 1) return { anyOf: either.map(shapeOf) };
  const page = /^PageOf<(\w+)>$/.exec(answers);
  if (page?.[1] !== undefined)
    return {
      type: "object",
      properties: { items: { type: "array", items: reference(page[1]) }, next: { type: "string" } },
      required: ["items"],
    };
  if (answers.endsWith("[]")) return { type: "array", items: reference(answers.slice(0, -2)) };
  return answers === "null" ? { type: "null" } : reference(answers);
}

/** References of a JSON Schema document as those of an OpenAPI document. */
const relocated = (schemas: JsonObject): JsonObject =>
  JSON.parse(JSON.stringify(schemas).replaceAll('"#/definitions/', '"#/components/schemas/'));
