// What a caller that cancels gets, in each state of its message.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import type { ActorId, Entry, Outgoing, Store } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { FaultyStore, SimulatedClock, until } from "../../testing/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

const A: ActorId = "tally/a";
const say = (action: string, more: Partial<Outgoing> = {}): Outgoing => ({ to: A, action, args: null, start: null, ...more });

/** A store that blocks one of its methods. */
class HeldStore extends FaultyStore {
  #held: { readonly method: "children" | "commit"; readonly door: PromiseWithResolvers<void> } | undefined;
  waiting = 0;

  constructor() {
    super(memoryStore(), () => "pass");
  }

  hold(method: "children" | "commit"): () => void {
    const door = Promise.withResolvers<void>();
    this.#held = { method, door };
    return () => {
      this.#held = undefined;
      door.resolve();
    };
  }

  async #wait(method: "children" | "commit"): Promise<void> {
    if (this.#held?.method !== method) return;
    this.waiting += 1;
    await this.#held.door.promise;
  }

  override async children(id: ActorId): ReturnType<Store["children"]> {
    await this.#wait("children");
    return super.children(id);
  }

  override async commit(id: ActorId, entry: Entry): Promise<void> {
    await this.#wait("commit");
    await super.commit(id, entry);
  }
}

describe("C3 a caller that cancels", () => {
  test("while the children of the last life stop gets NOT_APPLIED, and nothing is applied", async () => {
    const store = new HeldStore();
    await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
    await engine.call(say("add"));
    await engine.stop(A, "over");
    const open = store.hold("children");
    const leaving = new AbortController();
    const left = engine.call(say("add"), { signal: leaving.signal });
    await until("its birth waits", () => store.waiting > 0);
    leaving.abort();
    await assert.rejects(left, { code: "CANCELLED", applied: false });
    open();
    await turnOfLoop();
    assert.deepEqual((await engine.read(A))?.status, "stopped");
    assert.deepEqual(await engine.call(say("add")), { ok: 1 });
  });

  for (const how of ["cancel", "deadline"] as const)
    test(`while its stop is being announced does not get NOT_APPLIED (memory, ${how})`, async () => {
      const store = new HeldStore();
      const clock = new SimulatedClock();
      await using engine = await LocalEngine.start({ kinds: [tallyKind("tally", { persistence: "memory" })], store, clock });
      await engine.call(say("add"));
      const open = store.hold("children");
      const leaving = new AbortController();
      const deadline = how === "deadline" ? { deadline: clock.now() + 20 } : {};
      const stopped = engine.call({ to: A, action: "stop", args: null, ...deadline }, { signal: leaving.signal });
      await until("its children are requested", () => store.waiting > 0);
      if (how === "cancel") leaving.abort();
      else await clock.advance(40);
      open();
      assert.ok("ok" in (await stopped));
    });

  for (const key of [undefined, "k"])
    test(`during the commit of a deferred reply does not wait for that reply (${key === undefined ? "no key" : "a key"})`, async () => {
      const store = new HeldStore();
      await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
      await engine.call(say("add"));
      const open = store.hold("commit");
      const leaving = new AbortController();
      const left = engine.call(say("later"), { signal: leaving.signal, ...(key === undefined ? {} : { key }) });
      await until("its commit waits", () => store.waiting > 0);
      leaving.abort();
      open();
      await assert.rejects(left, { code: "CANCELLED", applied: true });
    });
});

test("C2 a drain waits for an actor that is starting: no commit comes after it", async () => {
  const store = new HeldStore();
  const engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
  await engine.call(say("add"));
  await engine.stop(A, "over");
  const open = store.hold("children");
  const begun = engine.call(say("add")).catch((error: unknown) => error);
  await until("its birth waits", () => store.waiting > 0);
  const order: string[] = [];
  const drained = engine.drain(0).then(() => order.push("drained"));
  const over = begun.then(() => order.push("over"));
  open();
  await Promise.all([drained, over]);
  assert.deepEqual(order, ["over", "drained"]);
});
