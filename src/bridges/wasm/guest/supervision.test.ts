import assert from "node:assert/strict";
import { test } from "node:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forkEntry } from "../../../core/chain/index.ts";
import type { ActorId } from "../../../core/contract/index.ts";
import { memoryContents, memoryStore } from "../../../core/store/index.ts";
import { until } from "../../../testing/index.ts";
import type { GuestOptions } from "../guest-options.ts";
import { asRecord } from "../host/values.ts";
import { MANIFEST_SPACE, ManifestFinder } from "../manifest/manifest-finder.ts";
import type { Grants, Manifest } from "../manifest/manifest.ts";
import type { WitValue } from "../wit.ts";
import { ALL, bytesOf, manifest, GuestError, guestMessage, type Script, stage, type Stage, textOf, decoded } from "./stage.fixture.ts";

const okOf = (value: WitValue): string => {
  if (typeof value === "object" && "ok" in value)
    return value["ok"] instanceof Uint8Array ? decoded(value["ok"]) : JSON.stringify(value["ok"] ?? null);
  return JSON.stringify(value);
};

const child: Script = {
  "actor.init": async ({ state }) => {
    if (state === "bad") throw new GuestError("bad seed");
    return { state: state ?? "new" };
  },
  "message-server-client.handle-send": async ({ ask }, [data]) => {
    if (decoded(data) === "fail") throw new GuestError("child's own");
    if (decoded(data) === "leave") await ask("runtime.shutdown", bytesOf("last words"));
    return { state: decoded(data) };
  },
  "message-server-client.handle-request": async ({ state }) => ({ back: bytesOf(state ?? "") }),
};

/** Runs the commands of its requests, and records the messages about its children. */
const parent: Script = {
  "actor.init": async () => ({ state: "" }),
  "message-server-client.handle-request": async ({ ask, state }, [, data]) => {
    const [what = "", of = "", init] = decoded(data).split(" ");
    if (what === "heard") return { back: bytesOf(state ?? "") };
    const extra = init === undefined ? undefined : bytesOf(init);
    if (what === "spawn" || what === "resume")
      return { back: bytesOf(okOf(await ask(`supervisor.${what}`, manifest(of, more(of)), extra))) };
    if (what === "stop-child" || what === "restart-child" || what === "get-child-state" || what === "get-child-events")
      return { back: bytesOf(okOf(await ask(`supervisor.${what}`, of))) };
    await ask("supervisor.spawn", manifest("child", {}), undefined);
    throw new GuestError("after it had a child");
  },
  "supervisor-handlers.handle-child-error": async ({ state, ask }, [id, error]) => {
    assert.ok(typeof id === "string" && typeof error === "object" && "data" in error);
    const data = decoded(error["data"]);
    if (data.includes("child's own")) assert.deepEqual(await ask("supervisor.restart-child", id), { ok: undefined });
    return { state: `${state}error ${data};` };
  },
  "supervisor-handlers.handle-child-exit": async ({ state }, [, data]) => ({ state: `${state}exit ${decoded(data)};` }),
  "supervisor-handlers.handle-child-external-stop": async ({ state }) => ({ state: `${state}stopped;` }),
};
const more = (of: string): Parameters<typeof manifest>[1] =>
  of === "greedy" ? { component: "child", grants: { ...ALL, httpClient: { allowed: ["*"] } } } : {};

const spawned = async (on: Stage, from: ActorId, init = ""): Promise<{ readonly uid: string; readonly id: ActorId }> => {
  const uid: unknown = JSON.parse(textOf(await on.request(from, `spawn child${init === "" ? "" : ` ${init}`}`)));
  assert.ok(typeof uid === "string");
  return { uid, id: (await on.engine.find(uid)) ?? assert.fail() };
};

test("a failed child is paused, and its notified parent restarts it with its id and state", async () => {
  await using on = await stage({ child, parent });
  const from = await on.start("parent");
  const { uid, id } = await spawned(on, from, "seed");
  assert.deepEqual((await on.state(from)).children, { [uid]: id });
  assert.equal((await on.state(id)).parent, from);
  await on.engine.call(guestMessage(id, "send", "fail"));
  await until("it runs again", async () => (await on.state(id)).status === "running" && textOf(await on.request(from, "heard")) !== "");
  assert.equal(textOf(await on.request(from, "heard")), 'error {"event":2,"message":"The guest failed: child\'s own."};');
  assert.equal(textOf(await on.request(id, "?")), "seed");
  assert.equal((await on.engine.read(id))?.uid, uid);
});

test("a child's shutdown and an external stop are each reported once, to their own handlers", async () => {
  await using on = await stage({ child, parent });
  const from = await on.start("parent");
  const [one, other] = [await spawned(on, from), await spawned(on, from)];
  await on.engine.call(guestMessage(one.id, "send", "leave"));
  await until("its parent knows", async () => Object.keys((await on.state(from)).children).length === 1);
  await on.engine.stop(other.id, "somebody wants it");
  await until("its parent knows", async () => Object.keys((await on.state(from)).children).length === 0);
  await until("nothing is on its way", async () => (await on.events(from)).length === 5);
  assert.equal(textOf(await on.request(from, "heard")), "exit last words;stopped;");
});

test("a parent stops, restarts and reads only its own children", async () => {
  const childEvents = async () => [{ hash: bytesOf("h"), parentHash: null, eventType: "wasm", data: bytesOf("d"), timestamp: 5 }];
  await using on = await stage({ child, parent }, { childEvents });
  const [from, stranger] = [await on.start("parent"), await on.start("parent")];
  const { uid, id } = await spawned(on, from, "seed");
  assert.equal(textOf(await on.request(from, `get-child-state ${uid}`)), "seed");
  assert.match(textOf(await on.request(stranger, `get-child-state ${uid}`)), /no child of this actor/u);
  assert.match(textOf(await on.request(stranger, `stop-child ${uid}`)), /no child of this actor/u);
  assert.equal(textOf(await on.request(from, `restart-child ${uid}`)), "null");
  await on.engine.call(guestMessage(id, "send", "other"));
  assert.equal(textOf(await on.request(from, `get-child-state ${uid}`)), "other");
  assert.equal(textOf(await on.request(from, `stop-child ${uid}`)), "null");
  assert.equal((await on.engine.read(id))?.status, "stopped");
  assert.match(textOf(await on.request(from, `stop-child ${uid}`)), /no child of this actor/u);
  await until("nothing is on its way", async () => (await on.events(from)).every(({ header }) => !header.includes('"type":"ended"')));
  assert.equal(textOf(await on.request(from, "heard")), "");
});

test("get-child-events returns events in the form of Theater's chain", async () => {
  const seen: WitValue[] = [];
  const curious: Script = {
    ...parent,
    "message-server-client.handle-request": async ({ ask }) => {
      const born = await ask("supervisor.spawn", manifest("child"), undefined);
      assert.ok(typeof born === "object" && "ok" in born);
      seen.push(await ask("supervisor.get-child-events", born["ok"]));
      return { back: bytesOf("") };
    },
  };
  const childEvents = async () => [{ hash: bytesOf("h"), parentHash: null, eventType: "wasm", data: bytesOf("d"), timestamp: 5 }];
  await using on = await stage({ child, parent: curious }, { childEvents });
  await on.request(await on.start("parent"), "?");
  const event = { hash: bytesOf("h"), "parent-hash": undefined, "event-type": "wasm", data: bytesOf("d"), timestamp: 5n };
  assert.deepEqual(seen, [{ ok: [event] }]);
});

test("a child is resumed from a state without init, and one whose init fails does not exist", async () => {
  await using on = await stage({ child, parent });
  const from = await on.start("parent");
  const uid: unknown = JSON.parse(textOf(await on.request(from, "resume child bad")));
  assert.ok(typeof uid === "string");
  assert.equal(await on.own((await on.engine.find(uid)) ?? assert.fail()), "bad");
  assert.ok(!on.sandbox.ran.includes(`${await on.engine.find(uid)} actor.init`));
  assert.match(textOf(await on.request(from, "spawn child bad")), /did not start: ActorInitializationError: The guest failed: bad seed/u);
  assert.deepEqual(Object.keys((await on.state(from)).children), [uid]);
});

test("a guest's own manifest cannot grant its child more than the guest has; the operator's can", async () => {
  let trusted = false;
  await using on = await stage(
    { child, parent },
    {
      manifests: {
        find: async (text) => ({ text, origin: "/manifests/child.toml" }),
        read: (text) => ({ ...JSON.parse(text), text }),
        content: async (reference) => bytesOf(reference),
        isTrusted: () => trusted,
      },
    },
  );
  const from = await on.start("parent");
  assert.match(textOf(await on.request(from, "spawn greedy")), /grants http-client, which its parent was not granted/u);
  trusted = true;
  assert.match(textOf(await on.request(from, "spawn greedy")), /^"[0-9a-f-]{36}"$/u);
});

test("a child of a guest's own manifest has no higher limits or random grants than the guest", async () => {
  const limited = (limits: Manifest["limits"], random: Grants["random"]): Partial<Manifest> => ({
    component: "child",
    limits,
    grants: { ...ALL, ...(random === undefined ? {} : { random }) },
  });
  const wishes = {
    same: limited({ callMs: 200, memoryBytes: 524_288 }, { maxBytes: 10, maxInt: 5n }),
    unlimited: limited({}, undefined),
    slow: limited({ callMs: 201, memoryBytes: 524_288 }, undefined),
    large: limited({ callMs: 200, memoryBytes: 524_289 }, undefined),
    longer: limited({ callMs: 200, memoryBytes: 524_288 }, { maxBytes: 11, maxInt: 5n }),
    higher: limited({ callMs: 200, memoryBytes: 524_288 }, { maxBytes: 10, maxInt: 6n }),
  };
  const text = (wish: keyof typeof wishes): string => JSON.stringify(wish);
  const manifests: GuestOptions["manifests"] = {
    find: async (given) => ({ text: given }),
    read: (given) => {
      const wish = Object.entries(wishes).find(([name]) => JSON.stringify(name) === given)?.[1];
      return { name: "x", saveChain: false, grants: ALL, onError: "pause", limits: {}, ...wish, text: given };
    },
    content: async (reference) => bytesOf(reference),
    isTrusted: () => false,
  };
  const wishing: Script = {
    ...parent,
    "message-server-client.handle-request": async ({ ask }, [, data]) => ({
      back: bytesOf(okOf(await ask("supervisor.spawn", decoded(data), undefined))),
    }),
  };
  await using on = await stage({ child, parent: wishing }, { manifests });
  const message = await on.guests.prepare({ to: "guest/p", manifest: text("same"), component: bytesOf("parent") });
  assert.ok("ok" in (await on.engine.call(message)));
  const asks = async (wish: keyof typeof wishes): Promise<string> => textOf(await on.request("guest/p", text(wish)));
  assert.match(await asks("same"), /^"[0-9a-f-]{36}"$/u);
  for (const wish of ["unlimited", "slow"] as const) assert.match(await asks(wish), /beyond its parent's: write call_ms = 200, or less/u);
  assert.match(await asks("large"), /beyond its parent's: write memory_mb = 0/u);
  for (const wish of ["longer", "higher"] as const) assert.match(await asks(wish), /grants random, which its parent was not granted/u);
});

test("a guest's own manifest can name only what the guest could read; the operator's can name anything", async () => {
  const directory = await mkdtemp(join(tmpdir(), "manifests-"));
  try {
    await writeFile(join(directory, "secret.json"), "secret");
    await writeFile(join(directory, "child.wasm"), "child");
    await writeFile(join(directory, "child.toml"), 'name = "c"\ncomponent = "child.wasm"\ninit_state = "secret.json"\n');
    const contents = memoryContents();
    const secret = await contents.put(bytesOf("secret"));
    const listed = `name = "l"\ncomponent = "store:${await contents.put(bytesOf("child"))}"\ninit_state = "store:${secret}"\n`;
    await contents.label(MANIFEST_SPACE, "listed", await contents.put(bytesOf(listed)));
    await contents.label(MANIFEST_SPACE, "secret", secret);
    const reader: Script = {
      "actor.init": async () => ({}),
      "message-server-client.handle-request": async ({ ask }, [, data]) => {
        const space = decoded(asRecord(await ask("store.new"))["ok"] ?? "");
        for (const name of ["child", "secret"]) await ask("store.store-at-label", space, name, bytesOf(name));
        const own = 'name = "o"\ncomponent = "store://SPACE/child"\n';
        await ask("store.store-at-label", space, "manifest", bytesOf(own.replace("SPACE", space)));
        const given = decoded(data)
          .replaceAll("SPACE", space)
          .replaceAll("DIGEST", secret)
          .replaceAll("INLINE", own.replace("SPACE", space));
        const born = asRecord(await ask("supervisor.spawn", given, undefined));
        return { back: bytesOf("err" in born ? decoded(born["err"]) : okOf(await ask("supervisor.get-child-state", born["ok"] ?? ""))) };
      },
    };
    await using on = await stage({ child, reader }, { contents, manifests: new ManifestFinder({ directory, contents }) });
    const granting = 'name = "r"\n[[handlers]]\ntype = "supervisor"\n[[handlers]]\ntype = "store"\n';
    const message = await on.guests.prepare({ to: "guest/r", manifest: granting, component: bytesOf("reader") });
    assert.ok("ok" in (await on.engine.call(message)));
    const asks = async (given: string): Promise<string> => textOf(await on.request("guest/r", given));
    for (const path of ["secret.json", "./child.wasm", join(directory, "secret.json")]) {
      assert.match(await asks(`INLINEinit_state = "${path}"\n`), /is a path, and a manifest that a guest gives names none/u);
      assert.match(await asks(`name = "x"\ncomponent = "${path}"\n`), /is a path/u);
    }
    for (const at of [
      "store:DIGEST",
      "store:secret",
      "store://manifest/hash/DIGEST",
      "store://manifest/secret",
      "store://SPACE/none",
      "store:none",
    ])
      assert.match(await asks(`INLINEinit_state = "${at}"\n`), /is in no store that this guest may read/u, at);
    assert.match(await asks("store:DIGEST"), /is in no store that this guest may read/u);
    for (const at of ["secret", "hash/DIGEST"]) assert.equal(await asks(`INLINEinit_state = "store://SPACE/${at}"\n`), "secret", at);
    assert.equal(await asks("store://SPACE/manifest"), "new");
    for (const operators of ["child.toml", "store:listed"]) assert.equal(await asks(operators), "secret", operators);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test("a parent that fails pauses its children, including those it just spawned, and resumes with them", async () => {
  await using on = await stage({ child, parent });
  const from = await on.start("parent");
  const { id } = await spawned(on, from);
  await on.request(from, "have one and fail");
  const { children, status } = await on.state(from);
  assert.equal(status, "paused");
  assert.equal(Object.keys(children).length, 2);
  const all = Object.values(children);
  const are = (what: string) => async (): Promise<boolean> =>
    (await Promise.all(all.map((one) => on.state(one)))).every((one) => one.status === what);
  await until("its children are paused", are("paused"));
  assert.match(textOf(await on.request(id, "?")), /paused with its parent/u);
  await on.engine.call({ to: from, action: "resume", args: {} });
  await until("its children go on", are("running"));
});

test("only the child itself can report its end", async () => {
  await using on = await stage({ child, parent });
  const from = await on.start("parent");
  const { id } = await spawned(on, from);
  const before = (await on.events(from)).length;
  for (const action of ["ended", "child-exit", "child-error"])
    assert.deepEqual(await on.engine.call({ to: from, action, args: { child: id, reason: "lies", message: "lies" } }), { ok: null });
  assert.equal((await on.events(from)).length, before);
  assert.deepEqual(Object.values((await on.state(from)).children), [id]);
});

test("a fork of a parent does not stop the children of its origin", async () => {
  const store = memoryStore();
  await using on = await stage({ parent, child }, { store });
  const id = await on.start("parent");
  const { uid } = await spawned(on, id, "seed");
  const stamps = { life: "00000000-0000-4000-8000-000000000009", messageId: "m", at: 0, seed: "0".repeat(32) };
  await store.commit("guest/fork", forkEntry(await on.events(id), { to: "guest/fork", origin: {}, ...stamps }));
  assert.match(textOf(await on.request("guest/fork", `stop-child ${uid}`)), /has another parent/u);
  assert.equal(textOf(await on.request(id, `get-child-state ${uid}`)), "seed");
  assert.equal(textOf(await on.request(id, `stop-child ${uid}`)), "null");
});
