import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../actor/index.ts";
import { reexecute, readBody } from "../chain/index.ts";
import { type Behaviour, type ChainEvent, DEFAULT_POLICY, isJsonObject, type Json, type Message } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { SimulatedClock, until } from "../../testing/index.ts";
import { LocalEngine } from "./index.ts";

interface State {
  items: Json[];
}

const LIST = { type: "object", properties: { items: { type: "array" } } };

/** Retains its arguments, and writes to them. */
const keeper = actor("keeper", {
  description: "",
  initial: (): State => ({ items: [] }),
  tools: {
    keep: {
      description: "",
      input: LIST,
      run: ({ state, args }) => {
        state.items = listIn(args);
        state.items.push("end");
      },
    },
    write: { description: "", input: z.object({ items: z.any() }), run: ({ args }) => void listIn(args).push("end") },
    work: {
      description: "",
      input: LIST,
      work: async ({ state, args }) => {
        state.items = listIn(args);
        state.items.push("end");
      },
    },
    look: { description: "", input: LIST, view: ({ args }) => listIn(args).push("end") },
  },
});

function listIn(args: unknown): Json[] {
  const list: unknown = typeof args === "object" && args !== null && "items" in args ? args.items : undefined;
  assert.ok(isItems(list));
  return list;
}

const isItems = (value: unknown): value is Json[] => Array.isArray(value);

async function all(events: AsyncIterable<ChainEvent>): Promise<readonly ChainEvent[]> {
  const found: ChainEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

for (const action of ["tools/keep", "tools/work"]) {
  test(`C3 a message's arguments are recorded as they were sent, whatever ${action} does with them`, async () => {
    await using engine = await LocalEngine.start({ kinds: [keeper], store: memoryStore() });
    await engine.call({ to: "keeper/main", action, args: { items: ["b", "a"] }, start: null });
    assert.deepEqual((await engine.read("keeper/main"))?.state, { items: ["b", "a", "end"] });
    const events = await all(engine.history("keeper/main"));
    const last = events.at(-1);
    const message = last && readBody(last)?.message;
    assert.ok(isJsonObject(message));
    assert.deepEqual(message["args"], { items: ["b", "a"] });
    const { mismatches } = reexecute(keeper, events);
    assert.deepEqual(mismatches, []);
  });
}

test("C3 a turn or a view that writes to a message's arguments crashes with a clear error", async () => {
  await using engine = await LocalEngine.start({ kinds: [keeper], store: memoryStore() });
  await assert.rejects(engine.call({ to: "keeper/main", action: "tools/write", args: { items: [1] }, start: null }), { code: "CRASHED" });
  const args = { items: [1] };
  assert.throws(() => keeper.view?.({ items: [] }, "tools/look", args, { scopes: [] }), { code: "BAD_TURN" });
  assert.deepEqual(args, { items: [1] });
});

test("C3 a message that is delivered again has the same arguments", async () => {
  const clock = new SimulatedClock();
  let tries = 0;
  const taker: Behaviour<State> = {
    kind: "taker",
    version: 1,
    policy: { ...DEFAULT_POLICY },
    autoStart: true,
    initial: () => ({ items: [] }),
    receive(state, { action, args }: Message) {
      if (action === "pass") return { send: [{ to: "taker/b", action: "take", args: { items: [1, 2, 3] }, start: null }] };
      const items = listIn(args);
      tries += 1;
      if (tries < 3) {
        if (!Object.isFrozen(items)) items.push(9);
        throw new Error("Not yet.");
      }
      return { state: { ...state, items } };
    },
  };
  await using engine = await LocalEngine.start({ kinds: [taker], clock, store: memoryStore({ clock }) });
  await engine.call({ to: "taker/a", action: "pass", args: null, start: null });
  await clock.advance(2_000);
  await until("it was taken", async () => (await engine.read("taker/b")) !== undefined);
  assert.deepEqual((await engine.read("taker/b"))?.state, { items: [1, 2, 3] });
});
