import assert from "node:assert/strict";
import { test } from "node:test";
import { readBody } from "../../../core/chain/index.ts";
import { settle, SimulatedClock, until } from "../../../testing/index.ts";
import { memoryStore } from "../../../core/store/index.ts";
import {
  RetryCall,
  base64,
  bytesOf,
  SandboxEnd,
  manifest,
  GuestError,
  guestMessage,
  type Script,
  stage,
  textOf,
  decoded,
} from "./stage.fixture.ts";

const counter: Script = {
  "actor.init": async ({ state }) => ({ state: state ?? "0" }),
  "message-server-client.handle-send": async ({ state, ask }, [data]) => {
    const word = decoded(data);
    if (word === "fail") throw new GuestError("no such word");
    if (word === "trap") throw new SandboxEnd("trap");
    if (word === "spin") throw new SandboxEnd("killed");
    if (word.startsWith("tell ")) await ask("message-server-host.send", word.slice(5), bytesOf("add"));
    if (word === "tell and fail") throw new GuestError("after all not");
    return { state: String(Number(state) + 1) };
  },
  "message-server-client.handle-request": async ({ state }, [, data]) => {
    if (decoded(data) === "fail") throw new GuestError("no such question");
    return { back: bytesOf(`${state}`) };
  },
};

test("C5 a guest handles start, send and request, and its event names the digest of its state", async () => {
  await using on = await stage({ counter });
  const id = await on.start("counter", {}, "7");
  assert.deepEqual(await on.engine.call(guestMessage(id, "send", "add")), { ok: null });
  assert.equal(textOf(await on.request(id, "?")), "8");
  const state = await on.state(id);
  assert.equal(await on.own(id), "8");
  assert.equal(state.id, (await on.engine.read(id))?.uid);
  assert.deepEqual([state.name, state.status, state.children], ["counter", "running", {}]);
  const bodies = (await on.events(id)).map(readBody);
  assert.deepEqual(bodies[1]?.record, {
    call: { export: "message-server-client.handle-send", params: [{ bytes: base64("add") }] },
    did: [],
    end: "ok",
    back: null,
  });
});

for (const [word, code, why] of [
  ["fail", "ActorError", "The guest failed: no such word."],
  ["trap", "ActorError", "Trap: the script is trap."],
  ["spin", "Timeout", "the script is killed."],
] as const)
  test(`C3 a call that fails (${word}) leaves the guest's state, pauses it, and names its event`, async () => {
    await using on = await stage({ counter });
    const id = await on.start("counter", {}, "3");
    const reply = await on.engine.call(guestMessage(id, "send", word));
    assert.deepEqual(reply, { ok: { failed: { code, message: `${why} It is paused.` } } });
    const state = await on.state(id);
    assert.deepEqual([state.status, state.failed, await on.own(id)], ["paused", { seq: 2, message: why }, "3"]);
    const record = readBody((await on.events(id))[1] ?? assert.fail())?.record;
    assert.equal(JSON.stringify(record).includes(`"end":"${{ fail: "error", trap: "trap", spin: "killed" }[word]}"`), true);
    assert.match(textOf(await on.request(id, "?")), /"code":"PAUSED","message":"This actor is paused after event 2/u);
    assert.deepEqual(await on.engine.call({ to: id, action: "resume", args: {} }), { ok: null });
    assert.equal((await on.state(id)).failed, undefined);
    assert.ok(on.sandbox.forgotten.includes(id));
    assert.equal(textOf(await on.request(id, "?")), "3");
  });

test('a guest whose manifest says on_error = "restart" continues from its last state', async () => {
  await using on = await stage({ counter });
  const id = await on.start("counter", { onError: "restart" }, "3");
  assert.deepEqual(await on.request(id, "fail"), {
    ok: { failed: { code: "ActorError", message: "The guest failed: no such question." } },
  });
  assert.equal((await on.state(id)).status, "running");
  assert.equal(textOf(await on.request(id, "?")), "3");
});

test("C3 what a failing call sends is dropped", async () => {
  await using on = await stage({
    counter,
    sender: {
      ...counter,
      "message-server-client.handle-send": async ({ ask }, [data]) => {
        const [to = "", how] = decoded(data).split(" ");
        assert.deepEqual(await ask("message-server-host.send", to, bytesOf("add")), { ok: undefined });
        if (how === "fail") throw new GuestError("after all not");
        return {};
      },
    },
  });
  const to = await on.start("counter");
  const from = await on.start("sender", { onError: "restart" });
  const { uid } = (await on.engine.read(to)) ?? assert.fail();
  await on.engine.call(guestMessage(from, "send", `${uid} fail`));
  await on.engine.call(guestMessage(from, "send", `${uid} well`));
  await until("one has come", async () => (await on.own(to)) === "1");
  assert.equal((await on.events(to)).length, 2);
  assert.deepEqual(readBody((await on.events(from))[1] ?? assert.fail())?.sent, []);
});

test("C5 a call that is retried after its neighbour was killed sends once", async () => {
  await using on = await stage({
    counter,
    sender: {
      "actor.init": async () => ({}),
      "message-server-client.handle-send": async ({ ask, tried }, [data]) => {
        await ask("message-server-host.send", decoded(data), bytesOf("add"));
        if (tried < 3) throw new RetryCall();
        return {};
      },
    },
  });
  const to = await on.start("counter");
  const from = await on.start("sender");
  await on.engine.call(guestMessage(from, "send", to));
  await until("one has come", async () => (await on.own(to)) === "1");
  assert.equal(readBody((await on.events(from))[1] ?? assert.fail())?.sent.length, 1);
});

test("C3 a call lost after an external effect is refused as unknown, with its host calls recorded", async () => {
  await using on = await stage({
    counter: {
      "actor.init": async () => ({}),
      "message-server-client.handle-request": async ({ ask }) => {
        await ask("store.new");
        throw new SandboxEnd("lost");
      },
    },
  });
  const id = await on.start("counter");
  const reply = await on.request(id, "?");
  assert.match(JSON.stringify(reply), /"refused":\{"code":"OUTCOME_UNKNOWN"/u);
  const record = JSON.stringify(readBody((await on.events(id))[1] ?? assert.fail())?.record);
  assert.ok(record.includes('"end":"lost"') && record.includes("store.new"), record);
  assert.equal((await on.state(id)).status, "running");
});

test("a guest whose init fails does not run, and reports why", async () => {
  await using on = await stage({
    broken: {
      "actor.init": async () => {
        throw new GuestError("no luck");
      },
    },
  });
  const message = await on.guests.prepare({ to: "guest/b", manifest: manifest("broken") });
  const reply = await on.engine.call(message);
  assert.deepEqual(reply, { ok: { failed: { code: "ActorInitializationError", message: "The guest failed: no luck." } } });
  assert.equal((await on.engine.read("guest/b"))?.status, "stopped");
  assert.equal(await on.engine.count({ kind: "guest", live: true }), 0);
});

test("an invalid start starts nothing", async () => {
  await using on = await stage({ counter });
  await assert.rejects(on.guests.prepare({ to: "guest/x", manifest: manifest("nothing") }), /nothing is no component/u);
  const refused = await on.engine.call({ to: "guest/x", action: "start", args: {}, start: { manifest: "no", component: 3 } });
  assert.match(JSON.stringify(refused), /INVALID/u);
  const other = await on.engine.call({ ...guestMessage("guest/x", "send", "add"), start: {} });
  assert.match(JSON.stringify(other), /NO_ACTOR/u);
  assert.equal(await on.engine.read("guest/x"), undefined);
  const id = await on.start("counter");
  assert.match(
    JSON.stringify(await on.engine.call(await on.guests.prepare({ to: id, manifest: manifest("counter") }))),
    /ActorAlreadyExists/u,
  );
});

test("initial state: of two JSON objects the starter's keys win, otherwise it replaces the manifest's", async () => {
  await using on = await stage({ counter });
  const base = { initialState: '{"a":1,"b":2}' };
  assert.equal(await on.own(await on.start("counter", base, '{"b":3}')), '{"a":1,"b":3}');
  assert.equal(await on.own(await on.start("counter", base, "[4]")), "[4]");
  assert.equal(await on.own(await on.start("counter", base)), '{"a":1,"b":2}');
  assert.equal(await on.own(await on.start("counter")), "0");
});

const clerk: Script = {
  "actor.init": async () => ({ state: "" }),
  "message-server-client.handle-request": async ({ state, call }, [id, data]) => {
    if (decoded(data) === "list") return { back: bytesOf(call.outstanding.join()) };
    return { state: `${state}${decoded(id)} ` };
  },
  "message-server-client.handle-send": async ({ state, ask }, [data]) => {
    const [first = ""] = (state ?? "").split(" ");
    const done =
      decoded(data) === "cancel"
        ? await ask("message-server-host.cancel-request", first)
        : await ask("message-server-host.respond-to-request", first, data);
    assert.deepEqual(done, { ok: undefined });
    return { state: (state ?? "").slice(first.length + 1) };
  },
};

test("a request is answered later, or cancelled, or refused when its guest stops", async () => {
  await using on = await stage({ clerk });
  const id = await on.start("clerk");
  const asked = [on.request(id, "a"), on.request(id, "b"), on.request(id, "c")];
  await until("all wait", async () => (await on.state(id)).outstanding.length === 3);
  await on.engine.call(guestMessage(id, "send", "there you are"));
  assert.equal(textOf((await asked[0]) ?? assert.fail()), "there you are");
  await on.engine.call(guestMessage(id, "send", "cancel"));
  assert.match(JSON.stringify(await asked[1]), /"refused":\{"code":"CANCELLED"/u);
  assert.deepEqual((await on.state(id)).outstanding.length, 1);
  await on.engine.stop(id, "enough");
  assert.match(JSON.stringify(await asked[2]), /ACTOR_STOPPED/u);
});

test("answering a request that is not outstanding is an error", async () => {
  const said: unknown[] = [];
  await using on = await stage({
    clerk: {
      "actor.init": async () => ({}),
      "message-server-client.handle-request": async ({ ask }, [id]) => {
        assert.ok(typeof id === "string");
        said.push(await ask("message-server-host.respond-to-request", "nobody", bytesOf("x")));
        said.push(await ask("message-server-host.respond-to-request", id, bytesOf("mine")));
        said.push(await ask("message-server-host.cancel-request", id));
        return { back: bytesOf("too late") };
      },
    },
  });
  const id = await on.start("clerk");
  assert.equal(textOf(await on.request(id, "?")), "mine");
  assert.match(JSON.stringify(said), /no request nobody that waits.*\{\},.*no request/u);
});

test("guests request each other; a cycle is an error, and so is a missing actor", async () => {
  const asks: Script = {
    "actor.init": async () => ({}),
    "message-server-client.handle-request": async ({ ask }, [, data]) => {
      const [to = "", ...rest] = decoded(data).split(" ");
      if (to === "") return { back: bytesOf("end") };
      const result = await ask("message-server-host.request", to, bytesOf(rest.join(" ")));
      return { back: typeof result === "object" && "ok" in result ? result["ok"] : bytesOf(JSON.stringify(result)) };
    },
  };
  await using on = await stage({ asks });
  const [a, b] = [await on.start("asks"), await on.start("asks")];
  assert.equal(textOf(await on.request(a, `${b} `)), "end");
  assert.match(textOf(await on.request(a, `${b} ${a} `)), /waits for .*cannot wait/u);
  assert.match(textOf(await on.request(a, "nobody x")), /There is no actor nobody/u);
  assert.match(textOf(await on.request(a, "guest/nobody x")), /There is no actor/u);
  await on.engine.stop(b, "done");
  assert.match(textOf(await on.request(a, `${b} `)), /There is no actor/u);
});

test("a guest that shuts down replies, and then stops", async () => {
  await using on = await stage({
    brief: {
      "actor.init": async () => ({}),
      "message-server-client.handle-request": async ({ ask }, [, data]) => {
        await ask("runtime.shutdown", undefined);
        return decoded(data) === "" ? {} : { back: bytesOf("bye") };
      },
    },
  });
  const a = await on.start("brief");
  const b = await on.start("brief");
  assert.equal(textOf(await on.request(a, "?")), "bye");
  assert.equal((await on.engine.read(a))?.status, "stopped");
  assert.match(JSON.stringify(await on.request(b, "")), /shut down without an answer/u);
  await assert.rejects(on.request(a, "?"), { code: "ACTOR_STOPPED" });
});

test("update replaces the component and keeps the state; an invalid component is refused", async () => {
  await using on = await stage({
    counter,
    loud: { ...counter, "message-server-client.handle-request": async ({ state }) => ({ back: bytesOf(`${state}!`) }) },
  });
  const id = await on.start("counter", {}, "5");
  const digest = await on.guests.component("loud", await on.state(id));
  assert.deepEqual(await on.engine.call({ to: id, action: "update", args: { component: digest } }), { ok: null });
  assert.equal(textOf(await on.request(id, "?")), "5!");
  await assert.rejects(on.guests.component("nothing", await on.state(id)), /no component/u);
  const gone = await on.engine.call({ to: id, action: "update", args: { component: "0".repeat(64) } });
  assert.match(JSON.stringify(gone), /not in the content store/u);
});

// ── messages to stopped actors ───────────────────────────────────────────────

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
        if (decoded(data) === "fail") throw new GuestError("no");
        const born = await ask("supervisor.spawn", manifest("child"), undefined);
        assert.ok(typeof born === "object" && "ok" in born && typeof born["ok"] === "string");
        await ask("message-server-host.open-channel", born["ok"], new Uint8Array());
        return { state: born["ok"] };
      },
    };
    const store = memoryStore({ clock: new SimulatedClock() });
    await using on = await stage({ child, parent }, { store, persistence });
    const id = await on.start("parent");
    await on.engine.call(guestMessage(id, "send", "spawn"));
    const [to = assert.fail()] = Object.values((await on.state(id)).children);
    const cut = assert.rejects(on.engine.call(guestMessage(to, "send", "sleep")), { code: "ACTOR_STOPPED" });
    await asleep.promise;
    // It is queued behind the call, and reaches a stopped actor.
    await on.engine.call(guestMessage(id, "send", "fail"));
    await on.engine.call({ to: id, action: "resume", args: {} });
    await on.engine.stop(to, "enough");
    await cut;
    await on.engine.stop(id, "enough");
    for (let n = 0; n < 10; n += 1) await on.clock.advance(1_000);
    await until("all is delivered", async () => (await store.undelivered(10)).length === 0);
    assert.deepEqual(await lettersOf(on.engine), []);
    // An explicit restart is still refused.
    await assert.rejects(on.engine.call({ to, action: "resume", args: {} }), {
      code: persistence === "disk" ? "ACTOR_STOPPED" : "NO_ACTOR",
    });
  });

async function lettersOf(engine: object): Promise<unknown> {
  if (!("letters" in engine) || typeof engine.letters !== "function") throw new TypeError("This engine keeps no letters.");
  return engine.letters();
}

const notes: Script = {
  "actor.init": async () => ({ state: "" }),
  "message-server-client.handle-send": async ({ state }, [data]) => ({ state: `${state}${decoded(data)}` }),
  "message-server-client.handle-request": async ({ state }) => ({ back: bytesOf(`${state}`) }),
};

test("C5 messages delivered before the engine is attached wait in order, and are applied once it is", async () => {
  await using on = await stage({ notes });
  const id = await on.start("notes");
  on.guests.attach(on.engine)();
  for (const word of ["a", "b", "c"]) await on.engine.send(guestMessage(id, "send", word));
  const asked = on.request(id, "?");
  await settle();
  assert.equal(await on.own(id), "");
  assert.equal((await on.events(id)).length, 1);
  on.guests.attach(on.engine);
  assert.ok("abc".startsWith(textOf(await asked)));
  await until("all is applied", async () => (await on.own(id)) === "abc");
});

test("a call that waits for an engine is cancelled with its caller, and with the engine", async () => {
  await using on = await stage({ notes });
  const id = await on.start("notes");
  on.guests.attach(on.engine)();
  const leaving = new AbortController();
  const asked = on.engine.call(guestMessage(id, "request", "?"), { signal: leaving.signal });
  await settle();
  leaving.abort();
  await assert.rejects(asked, { code: "CANCELLED" });
  const other = on.request(id, "?");
  await settle();
  await on.engine[Symbol.asyncDispose]();
  await assert.rejects(other, { code: "DRAINING" });
});
