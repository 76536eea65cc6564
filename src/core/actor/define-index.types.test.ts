import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { LocalEngine } from "../engine/index.ts";
import { memoryStore } from "../store/index.ts";
import { actor, index } from "./index.ts";

// What must not compile stands under `@ts-expect-error`, in functions that are never called.

const incident = actor("incident", {
  description: "An incident.",
  per: "link",
  autoStart: true,
  state: z.object({
    title: z.string().default(""),
    severity: z.number().default(1),
    urgent: z.boolean().optional(),
    status: z.enum(["open", "resolved"]).default("open"),
    tags: z.array(z.string()).default([]),
  }),
});

const open = index(incident, {
  where: ({ state, key }) => state.status !== "resolved" && key.length > 0,
  pick: ["title", "severity", "status", "tags", "urgent"],
  order: "severity",
  text: ["title", "tags"],
  uri: "incidents://open",
});

test("types: the rows of an index have the picked members, and filters their types #index.types", async () => {
  await using engine = await LocalEngine.start({ kinds: [incident], indexes: [open], store: memoryStore() });
  const page = await engine.query(open, {
    where: { title: { prefix: "a" }, severity: { gte: 1, lte: 2 }, status: { in: ["open"] }, urgent: null },
    text: "disk full",
    order: "desc",
    limit: 3,
  });
  const rows: readonly {
    readonly id: string;
    readonly key: string;
    readonly title: string;
    readonly severity: number;
    readonly status: "open" | "resolved";
    readonly tags: readonly string[];
    readonly urgent?: boolean | undefined;
  }[] = page.items;
  assert.deepEqual(rows, []);
  assert.equal(open.name, "incidents-open");
});

export function refusedByTheCompiler(engine: LocalEngine): void {
  // @ts-expect-error: no member of the state.
  index(incident, { pick: ["title", "nothing"] });
  // @ts-expect-error: not picked.
  index(incident, { pick: ["title"], order: "severity" });
  // @ts-expect-error: no member of the state.
  index(incident, { pick: ["title"], where: ({ state }) => state.nothing === 1 });
  // @ts-expect-error: `where` is synchronous.
  index(incident, { pick: ["title"], where: async () => true });
  // @ts-expect-error: the state is read-only.
  index(incident, { pick: ["title"], where: ({ state }) => (state.title = "x") === "x" });
  // @ts-expect-error: no such property.
  index(incident, { pick: ["title"], sort: "title" });
  // @ts-expect-error: only texts and lists of texts are searched.
  index(incident, { pick: ["title"], text: ["title", "severity"] });
  // @ts-expect-error: no member of the state.
  index(incident, { pick: ["title"], text: ["nothing"] });
  // @ts-expect-error: words, not a list of them.
  void engine.query(open, { text: ["disk"] });
  index(incident, { pick: ["title"], visible: { principal: "title" } });
  // @ts-expect-error: not picked.
  index(incident, { pick: ["title"], visible: { principal: "status" } });
  // @ts-expect-error: a number names no principal.
  index(incident, { pick: ["title", "severity"], visible: { principal: "severity" } });
  // @ts-expect-error: no such visibility.
  index(incident, { pick: ["title"], visible: "someone" });
  // @ts-expect-error: not picked.
  void engine.query(open, { where: { nothing: 1 } });
  // @ts-expect-error: a text.
  void engine.query(open, { where: { title: 1 } });
  // @ts-expect-error: a number has no prefix.
  void engine.query(open, { where: { severity: { prefix: "1" } } });
  // @ts-expect-error: none of the values.
  void engine.query(open, { where: { status: "closed" } });
  // @ts-expect-error: lists cannot be filtered.
  void engine.query(open, { where: { tags: ["a"] } });
  // @ts-expect-error: no such order.
  void engine.query(open, { order: "up" });
}

test("definitions of indexes are checked when they are loaded", () => {
  const define = (json: string): unknown => index(incident, JSON.parse(json));
  for (const [json, code] of [
    ['{"pick":["title"],"sort":"title"}', "BAD_DEFINITION"],
    ["{}", "BAD_DEFINITION"],
    ['{"pick":[]}', "BAD_DEFINITION"],
    ['{"pick":["a","a"]}', "BAD_DEFINITION"],
    ['{"pick":[1]}', "BAD_DEFINITION"],
    ['{"pick":["id"]}', "BAD_DEFINITION"],
    [`{"pick":${JSON.stringify(Array.from({ length: 17 }, (_, n) => `f${n}`))}}`, "BAD_DEFINITION"],
    ['{"pick":["a"],"order":"b"}', "BAD_DEFINITION"],
    ['{"pick":["a"],"visible":"all"}', "BAD_DEFINITION"],
    ['{"pick":["a"],"visible":{"principal":"b"}}', "BAD_DEFINITION"],
    ['{"pick":["a"],"visible":{"owner":"a"}}', "BAD_DEFINITION"],
    ['{"pick":["a"],"text":[]}', "BAD_DEFINITION"],
    ['{"pick":["a"],"text":["b","b"]}', "BAD_DEFINITION"],
    ['{"pick":["a"],"text":"b"}', "BAD_DEFINITION"],
    ['{"pick":["a"],"name":"A b"}', "BAD_NAME"],
    ['{"pick":["a"],"uri":"incidents://{key}"}', "BAD_DEFINITION"],
    ['{"pick":["a"],"tool":"a b"}', "BAD_NAME"],
  ] as const)
    assert.throws(() => define(json), { code }, json);
});
