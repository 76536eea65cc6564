import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { content, createServer, text, type Listening, type ListenOptions, type Server } from "./index.ts";

// What must not compile stands under `@ts-expect-error`: the type checker fails when one of these begins to compile.

const same = <T>(value: T): T => value;

function handlers({ tools, resources, prompts }: Server): void {
  tools.register({ name: "zod", input: z.object({ n: z.number(), s: z.string().optional() }) }, ({ args: { n, s } }) => {
    same<number>(n);
    same<string | undefined>(s);
    // @ts-expect-error a number is no text
    return same<string>(n);
  });
  tools.register({ name: "transformed", input: z.object({ n: z.string().transform(Number) }) }, ({ args: { n } }) => same<number>(n));
  tools.register(
    {
      name: "json",
      input: {
        type: "object",
        properties: {
          n: { type: "integer" },
          on: { type: "boolean" },
          unit: { enum: ["cm", "m"] },
          list: { type: "array", items: { type: "string" } },
          deep: { type: "object", properties: { x: { type: "number" } }, required: ["x"] },
        },
        required: ["n", "deep"],
      },
    },
    ({ args: { n, on, unit, list, deep } }) => {
      same<number>(n + deep.x);
      same<boolean | undefined>(on);
      same<"cm" | "m" | undefined>(unit);
      same<readonly string[] | undefined>(list);
      // @ts-expect-error it may be missing
      same<boolean>(on);
      // @ts-expect-error not a number
      same<number>(unit);
    },
  );
  // @ts-expect-error there is no such argument
  tools.register({ name: "none", input: z.object({ n: z.number() }) }, ({ args: { m } }) => m);
  // @ts-expect-error nor here
  tools.register({ name: "none", input: { type: "object", properties: { n: { type: "number" } } } }, ({ args: { m } }) => m);
  // @ts-expect-error a name is text
  tools.register({ name: 1 }, () => "x");
  // @ts-expect-error no handler
  tools.register({ name: "none" });
  tools.register({ name: "bare" }, ({ viewer, signal, requestId, emit }) => {
    same<string | undefined>(viewer.principal);
    same<AbortSignal>(signal);
    emit({ requestId });
    // @ts-expect-error a function is not JSON
    emit(() => 1);
  });

  const output = z.object({ cm: z.number() });
  tools.register({ name: "promise", output }, async () => ({ cm: 1 }));
  tools.register({ name: "content", output }, () => content(["1"], { cm: 1 }));
  tools.register({ name: "blocks" }, () => content([{ type: "image", data: "AA==", mimeType: "image/png" }, "text", text("more")]));
  // @ts-expect-error no block of MCP's
  tools.register({ name: "block" }, () => content([{ type: "image", data: "AA==", mime_type: "image/png" }]));
  // @ts-expect-error nor this
  tools.register({ name: "block" }, () => content([{ type: "text" }]));
  const readOnly: readonly string[] = ["a"];
  tools.register({ name: "readonly", output: z.object({ names: z.array(z.string()) }) }, () => ({ names: readOnly }));
  // @ts-expect-error not what it promises
  tools.register({ name: "broken", output }, () => ({ inch: 1 }));
  // @ts-expect-error nor later
  tools.register({ name: "broken", output: { type: "object", properties: { cm: { type: "number" } }, required: ["cm"] } }, async () => "1");

  resources.register({ name: "fixed", uri: "a://b" }, () => "x");
  resources.register({ name: "template", uri: "a://{b}/{c}", complete: { b: () => ["1"] } }, ({ args: { b, c } }) => same<string>(b + c));
  // @ts-expect-error the template has no such variable
  resources.register({ name: "template", uri: "a://{b}" }, ({ args: { c } }) => c);
  // @ts-expect-error nor a value for it
  resources.register({ name: "template", uri: "a://{b}", complete: { c: () => ["1"] } }, ({ args: { b } }) => b);
  // @ts-expect-error a resource has a URI
  resources.register({ name: "none" }, () => "x");

  prompts.register({ name: "p", arguments: [{ name: "who", required: true }, { name: "how" }] }, ({ args: { who, how } }) => {
    same<string>(who);
    same<string | undefined>(how);
    // @ts-expect-error it may be missing
    return same<string>(how);
  });
  // @ts-expect-error no such argument
  prompts.register({ name: "p", arguments: [{ name: "who" }] }, ({ args: { whom } }) => whom);
}

async function doors(server: Server): Promise<void> {
  const { http } = await server.listen({ http: true });
  same<string>(http.url);
  // @ts-expect-error it was not requested
  same<unknown>((await server.listen({ http: true })).tcp);
  same<(one: Listening<ListenOptions>) => void>(() => undefined);
}

test("handlers have the types of their schemas, and `listen` those of its transports", async () => {
  await using server = createServer("types", "1");
  assert.throws(() => handlers(server), { code: "NAME_COLLISION" });
  assert.ok(server.tools.size > 3);
  assert.equal(typeof doors, "function");
});
