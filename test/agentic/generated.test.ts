// Generated services, emissions, links and swaps against a model that only knows what was said last.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { type AgenticServiceOptions, fromAgenticService } from "../../src/bridges/agentic/index.ts";
import { action, act, Count, flagsOf, okOf, FakeService, viewer } from "../../src/bridges/agentic/service.fixture.ts";
import type { Json } from "../../src/core/contract/index.ts";
import { listed, sameJson } from "../../src/mcp/source/index.ts";
import { SimulatedClock } from "../../src/testing/index.ts";

const SERVICES = 5;
const MAX_DEPTH = 3;
const MAX_SERVICES = 8;

// What a service says, as plain data.
interface Said {
  readonly states: Readonly<Record<string, readonly [schema: number, value: Json]>>;
  readonly actions: Readonly<Record<string, number>>;
  readonly links: Readonly<Record<string, number>>;
}

const KINDS = 4;

interface Parameter {
  readonly schema: Readonly<Record<string, Json>>;
  readonly fits: Json;
}

const titled = (parameter: fc.Arbitrary<Parameter>): fc.Arbitrary<Parameter> =>
  fc
    .tuple(parameter, fc.option(fc.constantFrom("n", "m", "two words"), { nil: undefined }))
    .map(([{ schema, fits }, title]) => ({ fits, schema: title === undefined ? schema : { ...schema, title, layout: "packed" } }));
const scalar = titled(
  fc.oneof(
    fc.integer().map((minimum): Parameter => ({ schema: { type: "integer", minimum, precision: 1 }, fits: minimum })),
    fc.array(fc.string(), { minLength: 1 }).map((all): Parameter => ({ schema: { type: "string", enum: all }, fits: all[0] ?? "" })),
    fc.boolean().map((fits): Parameter => ({ schema: { const: fits }, fits })),
    fc.nat(4).map((size): Parameter => ({
      schema: { type: "array", items: { type: "null" }, minItems: size, maxItems: size, entity: true },
      fits: Array.from({ length: size }, () => null),
    })),
  ),
);
// The validator passes over a property of the name __proto__, so that nobody may give one.
const property = fc.string().filter((name) => name !== "__proto__");
const object = fc.dictionary(property, scalar, { noNullPrototype: true, maxKeys: 3 }).map((all): Parameter => ({
  schema: {
    type: "object",
    properties: Object.fromEntries(Object.entries(all).map(([key, { schema }]) => [key, schema])),
    required: Object.keys(all),
    additionalProperties: false,
  },
  fits: Object.fromEntries(Object.entries(all).map(([key, { fits }]) => [key, fits])),
}));
/** The parameters of one action. */
const parameters = fc.oneof(
  fc.array(scalar, { maxLength: 3 }),
  object.map((one): Parameter[] => [one]),
);

/** The arguments of a tool that takes these: one object as it is, others by title, or by number. */
const argumentsOf = (all: readonly Parameter[]): Json => {
  const [only] = all;
  if (all.length === 1 && only?.schema["type"] === "object") return only.fits;
  const titles = all.map(({ schema }) => schema["title"]);
  return Object.fromEntries(
    all.map(({ fits }, i) => {
      const title = titles[i];
      const isOwn = typeof title === "string" && !title.includes(" ") && titles.indexOf(title) === i;
      return [isOwn ? title : all.length === 1 ? "input" : `arg${i}`, fits];
    }),
  );
};

const STATE_SCHEMAS: readonly unknown[] = [undefined, { type: "number", precision: 1 }, { type: "string", description: "Says." }, false];
const value = fc.jsonValue({ maxDepth: 2 }).map((one): Json => JSON.parse(JSON.stringify(one)));
const states = fc.dictionary(fc.constantFrom("s", "t", "u"), fc.tuple(fc.nat(STATE_SCHEMAS.length - 1), value), { noNullPrototype: true });
const actions = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.nat(KINDS - 1), { noNullPrototype: true });
const links = fc.dictionary(fc.constantFrom("l", "m", "n"), fc.nat(SERVICES - 1), { noNullPrototype: true });
const said = fc.record({ states, actions, links });
const of = fc.nat(SERVICES - 1);

type Step =
  | { readonly do: "say"; readonly of: number; readonly part: keyof Said; readonly said: Said }
  // Something else first, and back: nobody is to notice.
  | { readonly do: "glitch"; readonly of: number; readonly part: keyof Said; readonly said: Said }
  | { readonly do: "repeat"; readonly of: number; readonly part: keyof Said }
  | { readonly do: "tick" }
  | { readonly do: "call"; readonly at: number };

const part = fc.constantFrom("states", "actions", "links");
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("say"), of, part, said }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("glitch"), of, part, said }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("repeat"), of, part }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("tick") }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("call"), at: fc.nat(20) }) },
);

interface Shown {
  readonly tools: ReadonlyMap<string, { readonly of: number; readonly key: string; readonly schema: number }>;
  readonly states: ReadonlyMap<string, { readonly schema: number; readonly value: Json }>;
}

/** What a client should find: links followed from the first service on, nearest first, never in circles. */
function shown(world: readonly Said[], separator: string): Shown {
  const tools = new Map<string, { of: number; key: string; schema: number }>();
  const found = new Map<string, { schema: number; value: Json }>();
  let level: readonly { readonly at: number; readonly path: readonly string[]; readonly way: readonly number[] }[] = [
    { at: 0, path: [], way: [0] },
  ];
  let met = 1;
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: { at: number; path: readonly string[]; way: readonly number[] }[] = [];
    for (const { at, path, way } of level) {
      const service = world[at];
      assert.ok(service !== undefined);
      for (const [key, schema] of Object.entries(service.actions)) tools.set([...path, key].join(separator), { of: at, key, schema });
      for (const [key, [schema, last]] of Object.entries(service.states))
        found.set([...path, key].join(separator), { schema, value: last });
      for (const [key, to] of Object.entries(service.links)) {
        if (depth === MAX_DEPTH || way.includes(to) || met === MAX_SERVICES) continue;
        met += 1;
        next.push({ at: to, path: [...path, key], way: [...way, to] });
      }
    }
    level = next;
  }
  return { tools, states: found };
}

// The list has a state's name and description; nothing else of its schema.
const listing = ({ states: all }: Shown): ReadonlyMap<string, boolean> =>
  new Map([...all].map(([name, { schema }]) => [name, schema === 2]));
const sameStates = (a: Shown, b: Shown): boolean => {
  const [before, after] = [listing(a), listing(b)];
  return before.size === after.size && [...before].every(([name, described]) => after.get(name) === described);
};

const EMPTY: Said = { states: {}, actions: {}, links: {} };

async function run(
  first: readonly Said[],
  kinds: readonly (readonly Parameter[])[],
  steps: readonly Step[],
  mode: Pick<AgenticServiceOptions, "states" | "links">,
): Promise<void> {
  const prints = kinds.map((all) => JSON.stringify(all));
  const sameTools = (a: Shown, b: Shown): boolean =>
    a.tools.size === b.tools.size &&
    [...a.tools].every(([name, { schema }]) => {
      const other = b.tools.get(name);
      return other !== undefined && prints[other.schema] === prints[schema];
    });
  const count = new Count();
  const heard: unknown[][] = [];
  const services = first.map(() => new FakeService({}, count));
  const world: Said[] = first.map(() => EMPTY);
  const emit = (at: number, which: keyof Said, all: Said): void => {
    const service = services[at];
    assert.ok(service !== undefined);
    if (which === "states")
      service.observables.states.set(
        Object.fromEntries(
          Object.entries(all.states).map(([key, [schema, last]]) => [key, { schema: STATE_SCHEMAS[schema], value: last }]),
        ),
      );
    else if (which === "links")
      service.observables.links.set(
        Object.fromEntries(Object.entries(all.links).flatMap(([key, to]) => (services[to] ? [[key, services[to]]] : []))),
      );
    else
      service.observables.actions.set(
        Object.fromEntries(
          Object.entries(all.actions).map(([key, schema]) => [
            key,
            action(
              (kinds[schema] ?? []).map((one) => one.schema),
              (...input) => void heard.push([at, key, ...input]),
            ),
          ]),
        ),
      );
  };
  const say = (at: number, which: keyof Said, all: Said): void => {
    const before = world[at];
    assert.ok(before !== undefined);
    world[at] = { ...before, [which]: all[which] };
    emit(at, which, all);
  };
  for (const [at, all] of first.entries()) for (const which of ["states", "actions", "links"] as const) say(at, which, all);
  for (const [at, service] of services.entries())
    service.answer = (key) => {
      heard.push([at, ...(service.calls.at(-1) ?? [key])]);
      return undefined;
    };

  const clock = new SimulatedClock();
  const separator = mode.links === "flat" ? "_" : ".";
  const root = services[0];
  assert.ok(root !== undefined);
  const source = fromAgenticService(root, { ...mode, clock, maxDepth: MAX_DEPTH, maxServices: MAX_SERVICES, stateIntervalMs: 0 });
  let known = shown(world, separator);
  const flags = flagsOf(source);

  const settle = async (): Promise<void> => {
    await clock.advance(1);
    const now = shown(world, separator);
    const expected: string[] = [];
    const isListed = mode.states === "resources";
    if (!sameTools(known, now) || (isListed && !sameStates(known, now))) expected.push("lists");
    for (const name of isListed ? new Set([...known.states.keys(), ...now.states.keys()]) : []) {
      const [was, is] = [known.states.get(name), now.states.get(name)];
      if (was === undefined || is === undefined || !sameJson(was.value, is.value)) expected.push(`resources/${name}`);
    }
    assert.deepEqual(flags.toSorted(), expected.toSorted(), "flags are the real changes");
    flags.length = 0;
    known = now;
    const lists = listed(await source.surface(viewer), "dynamic");
    assert.deepEqual(
      lists.tools.map(({ name }) => name).toSorted(),
      [...now.tools.keys(), ...(mode.states === "tool" ? ["get_state"] : [])].toSorted(),
    );
    assert.deepEqual(lists.resources.map(({ name }) => name).toSorted(), isListed ? [...now.states.keys()].toSorted() : []);
    const values = Object.fromEntries([...now.states].map(([name, state]) => [name, state.value]));
    if (mode.states === "tool") assert.deepEqual(okOf(await act(source, "tools/get_state")), values);
  };

  const call = async (at: number): Promise<void> => {
    const now = shown(world, separator);
    const [name, tool] = [...now.tools][at % Math.max(1, now.tools.size + 1)] ?? [];
    heard.length = 0;
    if (name === undefined || tool === undefined) {
      const reply = await act(source, "tools/nothing.here");
      assert.ok("refused" in reply && reply.refused.code === "UNKNOWN");
      return;
    }
    const all = kinds[tool.schema] ?? [];
    const reply = await act(source, `tools/${name}`, argumentsOf(all));
    assert.ok("ok" in reply, JSON.stringify(reply));
    assert.deepEqual(heard, [[tool.of, tool.key, ...(all.length === 0 ? [undefined] : all.map(({ fits }) => fits))]]);
    const wrong = await act(source, `tools/${name}`, { "not one of them": 1 });
    assert.ok("refused" in wrong && wrong.refused.code === "INVALID");
  };

  await settle();
  for (const one of steps) {
    if (one.do === "tick") await settle();
    else if (one.do === "say") say(one.of, one.part, one.said);
    else if (one.do === "repeat") say(one.of, one.part, world[one.of] ?? EMPTY);
    else if (one.do === "glitch") {
      emit(one.of, one.part, one.said);
      say(one.of, one.part, world[one.of] ?? EMPTY);
    } else {
      await settle();
      await call(one.at);
    }
  }
  await settle();
  const reached = new Set([0, ...[...known.tools.values()].map((tool) => tool.of)]);
  assert.ok(count.begun - count.ended >= reached.size * (mode.states === "omit" ? 2 : 3));
  assert.ok(count.begun - count.ended <= MAX_SERVICES * 3);
  source[Symbol.dispose]();
  assert.equal(count.ended, count.begun, "disposals equal subscriptions");
  for (const at of services.keys()) emit(at, "actions", EMPTY);
  await clock.advance(1);
  assert.deepEqual(flags, []);
}

test("200 generated services: lists, calls, states and flags are those of a model, and disposals equal subscriptions #agentic.actions.tools #agentic.call.availability #agentic.call.validated #agentic.states.omitted #agentic.states.tool #agentic.links.namespaced #agentic.links.flat #agentic.links.change #agentic.observe.coalesced #agentic.observe.closing #agentic.surface.states #agentic.surface.actions #agentic.surface.links #agentic.gap.observe", async () => {
  const mode = fc.record({
    states: fc.constantFrom("resources" as const, "tool" as const, "omit" as const),
    links: fc.constantFrom("namespaced" as const, "flat" as const),
  });
  const first = fc.array(said, { minLength: SERVICES, maxLength: SERVICES });
  await fc.assert(
    fc.asyncProperty(first, fc.array(parameters, { minLength: KINDS, maxLength: KINDS }), fc.array(step, { maxLength: 30 }), mode, run),
    { numRuns: 200 },
  );
});
