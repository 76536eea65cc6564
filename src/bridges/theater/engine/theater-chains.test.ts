import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../../core/actor/index.ts";
import type { ActorId } from "../../../core/contract/index.ts";
import { LocalEngine } from "../../../core/engine/index.ts";
import { memoryStore } from "../../../core/store/index.ts";
import { SimulatedClock, until } from "../../../testing/index.ts";
import { Chain, Contents } from "../chain/chain.fixture.ts";
import { TheaterChains } from "./theater-chains.ts";

void test("a chain too long to send is not read further, and the error offers pages", async () => {
  const contents = new Contents();
  const chain = new Chain("tally/t1");
  for (let at = 0; at < 300; at += 1) chain.event("add", { text: `${at} ${"x".repeat(16_000)}` }, { count: at });
  let read = 0;
  const engine = {
    async *history() {
      for (const event of chain.events) {
        read += 1;
        yield event;
        await Promise.resolve();
      }
    },
    watch: () => () => undefined,
  };
  await assert.rejects(new TheaterChains(engine, contents).whole({ id: "tally/t1" }), {
    code: "SerializationError",
    message: /33554432 bytes .* after \d+ of them: with `limit` GetActorEvents tells a page .*SubscribeToActor/,
  });
  assert.ok(read > 100 && read < 250, String(read));
  chain.events.splice(50);
  assert.equal((await new TheaterChains(engine, contents).whole({ id: "tally/t1" })).length, 102);
});

const tally = actor("tally", {
  description: "Counts.",
  state: z.object({ n: z.number().default(0) }),
  tools: { add: { description: "Count on.", run: ({ state }) => (state.n += 1) } },
});
const HOUR_MS = 3_600_000;

void test("pages of an actor that was pruned and started again show nothing of the one before", async () => {
  const clock = new SimulatedClock();
  await using engine = await LocalEngine.start({ kinds: [tally], store: memoryStore({ clock }), clock });
  const chains = new TheaterChains(engine, new Contents());
  const id = tally.id("one");
  const add = () => engine.call({ to: id, action: "tools/add", args: {}, start: null });
  const page = async () => {
    const snapshot = await engine.read(id);
    assert.ok(snapshot !== undefined);
    return { page: await chains.page(snapshot, { limit: 100 }), whole: await chains.whole(snapshot) };
  };
  await add();
  await add();
  await page();
  await engine.stop(id, "over");
  // A keyed reply is remembered for a day, and a jump of the clock counts once it has lasted.
  for (let hours = 0; hours < 7 * 24; hours += 1) await clock.advance(HOUR_MS);
  assert.equal((await engine.prune({ before: clock.now() - HOUR_MS })).ended.length, 1);
  await add();
  const next = await page();
  assert.deepEqual(next.page.events, next.whole);
});

void test("the end of an actor that is started again at once is reported, and nothing of its next life", async () => {
  await using engine = await LocalEngine.start({ kinds: [tally], store: memoryStore() });
  let reading = Promise.resolve();
  const slow = {
    async *history(id: ActorId, after?: number) {
      await reading;
      yield* engine.history(id, after);
    },
    watch: engine.watch.bind(engine),
  };
  const chains = new TheaterChains(slow, new Contents());
  const id = tally.id("one");
  const add = () => engine.call({ to: id, action: "tools/add", args: {}, start: null });
  await add();
  const snapshot = await engine.read(id);
  assert.ok(snapshot !== undefined);
  const seen: string[] = [];
  const ended = Promise.withResolvers<void>();
  const undo = await chains.follow(snapshot, {
    event: ({ eventType }) => void seen.push(eventType),
    ended({ how }) {
      seen.push(how);
      undo();
      ended.resolve();
    },
  });
  const resumed = Promise.withResolvers<void>();
  reading = resumed.promise;
  await engine.stop(id, "over");
  await add();
  resumed.resolve();
  await ended.promise;
  assert.deepEqual(seen, ["wasm", "wasm", "external-stop"]);
});

void test("following a chain is refused while it cannot be read, and works afterwards", async () => {
  await using engine = await LocalEngine.start({ kinds: [tally], store: memoryStore() });
  let damage: Error | undefined = new Error("It cannot be read.");
  let watched = 0;
  const chains = new TheaterChains(
    {
      async *history(id: ActorId, after?: number) {
        if (damage !== undefined) throw damage;
        yield* engine.history(id, after);
      },
      watch(what, listener) {
        watched += 1;
        const undo = engine.watch(what, listener);
        return () => {
          watched -= 1;
          undo();
        };
      },
    },
    new Contents(),
  );
  const id = tally.id("one");
  const add = () => engine.call({ to: id, action: "tools/add", args: {}, start: null });
  await add();
  const snapshot = await engine.read(id);
  assert.ok(snapshot !== undefined);
  const seen: string[] = [];
  const follow = () => chains.follow(snapshot, { event: ({ eventType }) => void seen.push(eventType), ended: () => assert.fail() });
  await assert.rejects(follow(), damage);
  assert.equal(watched, 0);
  damage = undefined;
  const undo = await follow();
  await add();
  await until("the event is seen", () => seen.length > 0);
  undo();
  assert.equal(watched, 0);
});
