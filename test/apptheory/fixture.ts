// The format of a transcript's file. Other members of the file are not compared.
import { readFileSync } from "node:fs";
import * as z from "zod";
import type { Json } from "../../src/core/contract/index.ts";

/** Writers in other languages use null for missing members. */
const list = <T extends z.ZodType>(one: T) => z.preprocess((value) => value ?? [], z.array(one));
const maybe = <T extends z.ZodType>(one: T) => z.preprocess((value) => value ?? undefined, one.optional());
const text = maybe(z.string());

const headers = z.preprocess(
  (value) => value ?? {},
  z.record(
    z.string(),
    z.preprocess((one) => (typeof one === "string" ? [one] : one), z.array(z.string())),
  ),
);
const json: z.ZodType<Json> = z.json();
const bag = z.record(z.string(), json);

const tool = z.object({
  name: z.string(),
  title: text,
  description: text,
  input_schema: maybe(bag),
  output_schema: maybe(bag),
  annotations: maybe(bag),
  handler: z.string().default("none"),
});

const content = z.object({ uri: z.string(), mime_type: text, text, blob: text });

const resource = z.object({
  uri: z.string(),
  name: z.string(),
  title: text,
  description: text,
  mime_type: text,
  size: maybe(z.number()),
  contents: list(content),
});

const template = z.object({
  uri_template: z.string(),
  name: z.string(),
  title: text,
  description: text,
  mime_type: text,
});

const prompt = z.object({
  name: z.string(),
  title: text,
  description: text,
  arguments: maybe(z.array(z.object({ name: z.string(), title: text, description: text, required: maybe(z.boolean()) }))),
  handler: z.string().default("none"),
});

const hint = z.object({ ttl_ms: maybe(z.number()), cache_scope: maybe(z.enum(["public", "private"])) });

const seed = z.object({
  id: z.string(),
  expires_unix_ms: maybe(z.number()),
  data: z.preprocess((value) => value ?? {}, z.record(z.string(), z.string())),
});

const settings = z.object({
  server: z.object({
    name: z.string(),
    version: z.string(),
    cacheable_results: z.preprocess((value) => value ?? {}, z.record(z.string(), hint)),
    extension_capabilities: z.preprocess((value) => value ?? {}, bag),
    include_server_info_metadata: maybe(z.boolean()),
  }),
  id_sequence: list(z.string()),
  tools: list(tool),
  resources: list(resource),
  resource_templates: list(template),
  prompts: list(prompt),
  session_store: z.preprocess((value) => (typeof value === "object" ? (value ?? {}) : {}), z.object({ seed: list(seed) })),
  task_runtime: maybe(z.object({ enabled: maybe(z.boolean()) })),
});

const body = z.object({ encoding: text, value: z.string().default("") });

const request = z.object({ method: z.string(), path: z.string(), headers, body: maybe(body) });

const frame = z.object({ id: text, event: text, data: z.string().default("") });

const answer = z.object({ status: z.number(), headers, body_json: json.optional(), body: maybe(body), sse_frames: maybe(z.array(frame)) });

const detection = z.object({ name: z.string(), headers, message: json });

const fixture = z
  .object({
    id: z.string(),
    name: z.string(),
    setup: z.object({ mcp: settings }),
    input: z.object({ mcp: z.object({ steps: list(z.object({ name: z.string(), request })), detections: list(detection) }) }),
    expect: z.object({ mcp: z.object({ steps: list(answer), detections: list(z.object({ name: z.string(), shape: z.string() })) }) }),
  })
  .refine(({ input, expect }) => input.mcp.steps.length === expect.mcp.steps.length, "It has other steps than answers.")
  .refine(({ input }) => input.mcp.steps.length + input.mcp.detections.length > 0, "It has no step.");

export type Fixture = z.infer<typeof fixture>;
export type Setup = z.infer<typeof settings>;
export type StepRequest = z.infer<typeof request>;
export type Frame = z.infer<typeof frame>;
export type Expected = z.infer<typeof answer>;

/** Throws, with the member's name, if the file is not a transcript. */
export const readFixture = (file: string): Fixture => fixtureOf(JSON.parse(readFileSync(file, "utf8")));

export function fixtureOf(written: unknown): Fixture {
  const read = fixture.safeParse(written);
  if (read.success) return read.data;
  const why = read.error.issues.slice(0, 3).map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`);
  throw new Error(`This is no transcript: ${why.join("; ")}`);
}

/** Whether it expects support for tasks, which is missing. A setup may have tasks while the transcript expects refusals. */
export function aboutTasks({ setup, expect }: Fixture): boolean {
  if (setup.mcp.task_runtime?.enabled !== true) return false;
  return expect.mcp.steps.some(({ body_json, sse_frames }) =>
    [body_json ?? null, ...(sse_frames ?? []).map(({ data }) => data)].some((part) =>
      /"(?:task|tasks|taskId)\\?":/.test(typeof part === "string" ? part : JSON.stringify(part)),
    ),
  );
}
