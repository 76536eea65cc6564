// The document that describes the console's API is valid, and has every route.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { ALL_ROUTES } from "../../src/bridges/console/all-routes.ts";
import { consoleSchemas } from "../../scripts/console-schemas.ts";
import { Console } from "./requests.ts";

const verbs = (document: object): readonly string[] =>
  Object.entries(Object(document)["paths"]).flatMap(([path, at]) => Object.keys(Object(at)).map((verb) => `${verb.toUpperCase()} ${path}`));

test("the OpenAPI document is valid, and has every route of the API", async () => {
  const served = new Console({ schemas: JSON.stringify(consoleSchemas()) });
  const { status, json } = await served.request("GET", "/openapi.json");
  assert.equal(status, 200);
  const { valid, errors } = await new Validator().validate({ ...json });
  assert.deepEqual([valid, errors], [true, undefined]);
  // The validator does not look into schemas.
  const ajv = new Ajv2020();
  assert.deepEqual([ajv.validateSchema({ $defs: consoleSchemas() }), ajv.errors ?? []], [true, []]);
  const declared = ALL_ROUTES.map(({ verb, path }) => `${verb} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
  assert.deepEqual(verbs(json).toSorted(), [...declared, "GET /openapi.json"].toSorted());
  const ids = Array.from(JSON.stringify(json).matchAll(/"operationId":"(\w+)"/g), ([, id]) => id);
  assert.equal(new Set(ids).size, declared.length + 1);
  // Every referenced schema exists.
  const shapes = Object.keys(Object(json)["components"]["schemas"]);
  const named = Array.from(JSON.stringify(json).matchAll(/"#\/components\/schemas\/([^"]+)"/g), ([, name = ""]) =>
    decodeURIComponent(name),
  );
  assert.deepEqual(
    [...new Set(named)].filter((name) => !shapes.includes(name)),
    [],
  );
});

test("without its built files the API reports that its description is missing", async () => {
  const { status, json } = await new Console().request("GET", "/openapi.json");
  assert.deepEqual([status, Object(json)["error"]["code"]], [409, "NOT_AVAILABLE"]);
});
