/** What an actor need not be told any more. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStore } from "../../../core/store/index.ts";
import { SimulatedClock, until } from "../../../testing/index.ts";
import { manifest, Said, say, type Script, stage, told } from "./stage.fixture.ts";

for (const persistence of ["disk", "memory"] as const)
  test(`pauses and resumes for a child that has stopped, and closes of its channels, leave no dead letter (${persistence})`, async () => {
    const asleep = Promise.withResolvers<void>();
    const child: Script = {
      "actor.init": async () => ({ state: "" }),
      "message-server-client.handle-channel-open": async () => ({ back: { accepted: true, message: undefined } }),
      "message-server-client.handle-send": async ({ ask }) => {
        asleep.resolve();
        await ask("timing.sleep", 9_000n);
        return {};
      },
    };
    const parent: Script = {
      "actor.init": async () => ({ state: "" }),
      "message-server-client.handle-send": async ({ ask }, [data]) => {
        if (told(data) === "fail") throw new Said("no");
        const born = await ask("supervisor.spawn", manifest("child"), undefined);
        assert.ok(typeof born === "object" && "ok" in born && typeof born["ok"] === "string");
        await ask("message-server-host.open-channel", born["ok"], new Uint8Array());
        return { state: born["ok"] };
      },
    };
    const store = memoryStore({ clock: new SimulatedClock() });
    await using on = await stage({ child, parent }, { store, persistence });
    const id = await on.start("parent");
    await on.engine.call(say(id, "send", "spawn"));
    const [to = assert.fail()] = Object.values((await on.state(id)).children);
    const cut = assert.rejects(on.engine.call(say(to, "send", "sleep")), { code: "ACTOR_STOPPED" });
    await asleep.promise;
    // It waits behind the call, and finds nobody.
    await on.engine.call(say(id, "send", "fail"));
    await on.engine.call({ to: id, action: "resume", args: {} });
    await on.engine.stop(to, "enough");
    await cut;
    await on.engine.stop(id, "enough");
    for (let n = 0; n < 10; n += 1) await on.clock.advance(1_000);
    await until("all is delivered", async () => (await store.undelivered(10)).length === 0);
    assert.deepEqual(await lettersOf(on.engine), []);
    // A restart that somebody asks for is refused as ever.
    await assert.rejects(on.engine.call({ to, action: "resume", args: {} }), {
      code: persistence === "disk" ? "ACTOR_STOPPED" : "NO_ACTOR",
    });
  });

async function lettersOf(engine: object): Promise<unknown> {
  if (!("letters" in engine) || typeof engine.letters !== "function") throw new TypeError("This engine keeps no letters.");
  return engine.letters();
}
