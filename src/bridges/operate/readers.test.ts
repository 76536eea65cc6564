import assert from "node:assert/strict";
import { test } from "node:test";
import { stateAt } from "../../core/chain/index.ts";
import type { ActorId, ChainEvent, Store } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { eventsOf } from "./paging.ts";
import { eventsOfState } from "./readers.ts";

const A: ActorId = "tally/a";
const LENGTH = 5_000;

/** The events of a store, and how many of them were read. */
const counting = (inner: Pick<Store, "events">) => ({
  read: 0,
  async events(...query: Parameters<Store["events"]>): Promise<readonly ChainEvent[]> {
    const page = await inner.events(...query);
    this.read += page.length;
    return page;
  },
});

test("of a long chain only what tells a state is read for it, whichever it is", async () => {
  const inner = memoryStore();
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store: inner });
  for (let n = 0; n < LENGTH; n += 1) await engine.call({ to: A, action: "add", args: null, start: null });
  const store = counting(inner);
  const length = async (): Promise<number | undefined> => (await inner.load(A))?.seq;
  const all: ChainEvent[] = [];
  for await (const event of eventsOf(inner, A)) all.push(event);
  for (const seq of [1, 2, 255, 256, 257, 511, 512, 513, 2_000, 4_999, LENGTH]) {
    store.read = 0;
    assert.deepEqual(stateAt(await eventsOfState(store, A, seq, length), seq), stateAt(all, seq), `event ${seq}`);
    assert.ok(store.read <= 1_000, `${store.read} were read for event ${seq}`);
  }
  await assert.rejects(eventsOfState(store, A, LENGTH + 1, length), {
    code: "NOT_FOUND",
    message: /^tally\/a has 5000 events, not 5001\.$/,
  });
  await assert.rejects(
    eventsOfState(store, "tally/none", 1, async () => undefined),
    { code: "NOT_FOUND", message: /There is no actor tally\/none/ },
  );
  await inner.erase(A, 4_000);
  await assert.rejects(eventsOfState(store, A, 3_000, length), {
    code: "NOT_FOUND",
    message: /The body of event 3000 of tally\/a was erased/,
  });
});

test("of a chain whose events are large, only a few are read for a state", async () => {
  const inner = memoryStore();
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store: inner });
  const text = "x".repeat(100_000);
  for (let n = 0; n < 40; n += 1) await engine.call({ to: A, action: "add", args: { text }, start: null });
  const store = counting(inner);
  assert.equal((await eventsOfState(store, A, 30, async () => 40)).at(-1)?.id, (await inner.events(A, 29, 1))[0]?.id);
  assert.ok(store.read <= 4, `${store.read} were read`);
});
