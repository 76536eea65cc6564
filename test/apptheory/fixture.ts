// One transcript as its file has it. What a file says beyond this has no part in what is compared.
import { readFileSync } from "node:fs";
import * as z from "zod";
import type { Json } from "../../src/contract/index.ts";

const headers = z.record(z.string(), z.array(z.string())).default({});
const json: z.ZodType<Json> = z.json();
const bag = z.record(z.string(), json);

const tool = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  input_schema: bag.optional(),
  output_schema: bag.optional(),
  handler: z.string(),
});

const resource = z.object({
  uri: z.string(),
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  mime_type: z.string().optional(),
  size: z.number().optional(),
  contents: z
    .array(z.object({ uri: z.string(), mime_type: z.string().optional(), text: z.string().optional(), blob: z.string().optional() }))
    .default([]),
});

const template = z.object({
  uri_template: z.string(),
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  mime_type: z.string().optional(),
});

const prompt = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  arguments: z
    .array(
      z.object({
        name: z.string(),
        title: z.string().optional(),
        description: z.string().optional(),
        required: z.boolean().optional(),
      }),
    )
    .optional(),
  handler: z.string(),
});

const hint = z.object({ ttl_ms: z.number().optional(), cache_scope: z.enum(["public", "private"]).optional() });

const seed = z.object({ id: z.string(), expires_unix_ms: z.number().optional(), data: z.record(z.string(), z.string()).default({}) });

const setup = z.object({
  server: z.object({
    name: z.string(),
    version: z.string(),
    cacheable_results: z.record(z.string(), hint).default({}),
    extension_capabilities: bag.default({}),
  }),
  id_sequence: z.array(z.string()).default([]),
  tools: z.array(tool).default([]),
  resources: z.array(resource).default([]),
  resource_templates: z.array(template).default([]),
  prompts: z.array(prompt).default([]),
  session_store: z.object({ seed: z.array(seed).default([]) }).default({ seed: [] }),
});

const request = z.object({
  method: z.enum(["POST", "GET", "DELETE"]),
  path: z.string(),
  headers,
  body: z.object({ encoding: z.string().optional(), value: z.string() }).optional(),
});

const frame = z.object({ id: z.string().optional(), event: z.string().optional(), data: z.string() });

const answer = z.object({ status: z.number(), headers, body_json: json.optional(), sse_frames: z.array(frame).optional() });

const detection = z.object({ name: z.string(), headers, message: json });

const fixture = z.object({
  id: z.string(),
  name: z.string(),
  setup: z.object({ mcp: setup }),
  input: z.object({
    mcp: z.object({ steps: z.array(z.object({ name: z.string(), request })), detections: z.array(detection).default([]) }),
  }),
  expect: z.object({
    mcp: z.object({ steps: z.array(answer), detections: z.array(z.object({ name: z.string(), shape: z.string() })).default([]) }),
  }),
});

export type Fixture = z.infer<typeof fixture>;
export type Setup = z.infer<typeof setup>;
export type StepRequest = z.infer<typeof request>;
export type Frame = z.infer<typeof frame>;
export type Expected = z.infer<typeof answer>;

/** Throws where the file is no transcript. */
export function readFixture(file: string): Fixture {
  return fixture.parse(JSON.parse(readFileSync(file, "utf8")));
}

/** Whether it expects tasks to be there: they are not. */
export function aboutTasks({ expect }: Fixture): boolean {
  return expect.mcp.steps.some(({ body_json, sse_frames }) =>
    [body_json ?? null, ...(sse_frames ?? []).map(({ data }) => data)].some((part) =>
      /"(?:task|tasks|taskId)\\?":/.test(typeof part === "string" ? part : JSON.stringify(part)),
    ),
  );
}
