// The code of docs/recipes/openapi.md.
import { type JsonObject, refuse } from "troupe";
import type { Server } from "troupe/server";
import * as z from "zod";

const Schema = z.record(z.string(), z.json());
const Parameter = z.object({ name: z.string(), in: z.string(), required: z.boolean().default(false), schema: Schema });
const Body = z.object({ content: z.object({ "application/json": z.object({ schema: Schema }) }) });
const Operation = z.object({
  operationId: z.string(),
  summary: z.string().default(""),
  parameters: z.array(Parameter).default([]),
  requestBody: Body.optional(),
});
const Path = z.object({ get: Operation, post: Operation, put: Operation, patch: Operation, delete: Operation }).partial();
const OpenApi = z.object({ paths: z.record(z.string(), Path) });

type Send = (url: string, init: RequestInit) => Promise<Response>;
const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
/** One segment of a path. `..` would lead to another operation. */
const segmentOf = (value: unknown): string => (/^\.*$/.test(textOf(value)) ? refuse("That is no id.") : encodeURIComponent(textOf(value)));

/** Registers a tool for each operation of an OpenAPI 3.1 description. `send` sends the requests, by default `fetch`. */
export function addOperations(server: Server, description: unknown, baseUrl: string, send: Send = fetch): void {
  for (const [path, operations] of Object.entries(OpenApi.parse(description).paths))
    for (const [method, operation] of Object.entries(operations)) {
      if (operation === undefined) continue;
      const { operationId, summary, parameters: all, requestBody } = operation;
      const parameters = all.filter((one) => one.in === "path" || one.in === "query");
      const body = requestBody?.content["application/json"].schema;
      const properties = { ...Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])), ...(body && { body }) };
      const required = [...parameters.flatMap((one) => (one.required ? [one.name] : [])), ...(body ? ["body"] : [])];
      const input: JsonObject = { type: "object", properties, required };
      server.tools.register({ name: operationId, description: summary, input }, async ({ args, signal }) => {
        const url = new URL(baseUrl + path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => segmentOf(args[name])));
        for (const { name, in: place } of parameters)
          if (place === "query" && args[name] !== undefined) url.searchParams.set(name, textOf(args[name]));
        const content = body && { body: JSON.stringify(args["body"]), headers: { "content-type": "application/json" } };
        const response = await send(url.href, { method, signal, ...content });
        const text = await response.text();
        return response.ok ? text : refuse(`The service answered ${response.status}: ${text.slice(0, 500)}`, { code: "HTTP" });
      });
    }
}
