import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { EngineError, isJsonObject, StoreError } from "../../../core/contract/index.ts";
import { until } from "../../../testing/index.ts";
import { createGuests } from "../../wasm/index.ts";
import { verifyTheater } from "../chain/link.ts";
import { loadChain } from "../chain/saved-chain.ts";
import { StageError } from "../stage.ts";
import { manifest, openStage } from "./engine-stage.fixture.ts";
import { EngineStage } from "./engine-stage.ts";
import { saveChains } from "./save-chains.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (data: Uint8Array | undefined): string | undefined => (data === undefined ? undefined : new TextDecoder().decode(data));
const never = new AbortController().signal;
const BOTH = manifest(["runtime", "message-server"]);

describe("our engine as a stage", () => {
  it("starts, calls, reads and stops a guest", async () => {
    await using on = await openStage();
    const { stage } = on;
    const began = await stage.start({ manifest: BOTH, component: on.wasm("echo"), name: "echo" });
    assert.deepEqual([began.name, began.status], ["player", "RUNNING"]);
    assert.equal(text(await stage.request(began.id, bytes("hello"), never)), "hello");
    assert.equal(text(await stage.request("echo", bytes("by name"), never)), "by name");
    await stage.send("echo", bytes("kept"));
    while (text(await stage.state("echo")) !== "kept") await new Promise((done) => setTimeout(done, 5));
    const details = await stage.actor("echo");
    assert.equal(details.manifestContent, BOTH);
    assert.deepEqual(
      (await stage.list(10)).map(({ id }) => id),
      [began.id],
    );
    await stage.stop("echo");
    await assert.rejects(stage.request("echo", bytes("?"), never), { code: "ActorNotRunning" });
    assert.equal((await stage.actor(began.id)).status, "STOPPED");
    assert.deepEqual(await stage.list(10), []);
  });

  it("starts an actor that is not a guest, which takes JSON", async () => {
    await using on = await openStage();
    const began = await on.stage.start({ manifest: "kind:door", name: "front" });
    const reply = await on.stage.request(began.id, bytes('{"action":"tools/push"}'), never);
    assert.equal(text(reply), '"It opens."');
    assert.equal(text(await on.stage.state("door/front")), '{"open":true}');
    await assert.rejects(on.stage.request(began.id, bytes("push"), never), { code: "InvalidRequest" });
    await assert.rejects(on.stage.start({ manifest: "kind:door", name: "front" }), { code: "ActorAlreadyExists" });
    await assert.rejects(on.stage.start({ manifest: "kind:window" }), { code: "InvalidRequest", message: /door/ });
    for (const start of [{ manifest: "kind:door" }, { manifest: BOTH, component: on.wasm("echo") }])
      for (const name of ["", "é".repeat(129), "\ud800"])
        await assert.rejects(on.stage.start({ ...start, name }), { code: "InvalidRequest", message: /name/ });
  });

  it("an integer that JSON would round is refused, as over MCP", async () => {
    await using on = await openStage();
    const { id } = await on.stage.start({ manifest: "kind:door", initialState: bytes('{"by":9007199254740992}') });
    const refused = { code: "InvalidRequest", message: /9007199254740993 is an integer that no double holds/ };
    const message = bytes('{"action":"tools/push","args":{"by":9007199254740993}}');
    await assert.rejects(on.stage.request(id, message, never), refused);
    await assert.rejects(on.stage.send(id, message), refused);
    await assert.rejects(on.stage.start({ manifest: "kind:door", initialState: bytes('{"by":9007199254740993}') }), refused);
  });

  it("an actor whose chain is damaged does not hide the others", async () => {
    await using on = await openStage();
    const faults: unknown[] = [];
    const stage = new EngineStage({ engine: on.engine, kinds: [], onFault: (error) => void faults.push(error) });
    for (const name of ["a", "b", "c"]) await on.stage.start({ manifest: "kind:door", name });
    const read = on.engine.read.bind(on.engine);
    const damage = new StoreError("STORE_CORRUPT", "An event's body was changed.");
    on.engine.read = (id) => (id === "door/a" ? Promise.reject(damage) : read(id));
    for (let times = 0; times < 2; times += 1)
      assert.deepEqual(
        (await stage.list(2)).map(({ name }) => name),
        ["door/b", "door/c"],
      );
    assert.deepEqual(faults, [damage]);
    on.engine.read = () => Promise.reject(new StoreError("STORE_IO", "The disk is away."));
    await assert.rejects(stage.list(2), { code: "StoreError" });
  });

  it("runs a linked actor's action on behalf of the requested actor #whole.links", async () => {
    await using on = await openStage();
    const { id } = await on.stage.start({ manifest: "kind:door", name: "front" });
    const call = bytes('{"action":"tools/call"}');
    await assert.rejects(on.stage.request(id, call, never), { code: "InvalidRequest" });
    await on.stage.request(id, bytes('{"action":"tools/push"}'), never);
    assert.equal(text(await on.stage.request(id, call, never)), '"It echoes for door/front."');
    assert.equal(text(await on.stage.state("hall/main")), '{"heard":1}');
    await assert.rejects(on.stage.send(id, call), { code: "InvalidRequest", message: /request it/ });
    await assert.rejects(on.stage.request(id, call, never), { code: "ActorError", message: "It echoes still." });
    assert.equal(text(await on.stage.state("door/front")), '{"open":true}');
  });

  it("a guest that traps is paused with its last state until a restart", async () => {
    await using on = await openStage();
    const { stage } = on;
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("hostile"), name: "villain" });
    await assert.rejects(stage.request(id, bytes("u"), never), { code: "ActorError", message: /unreachable/ });
    const paused = await stage.actor(id);
    assert.equal(paused.status, "PAUSED");
    const [failed] = await stage.events(id, { limit: 1 });
    assert.ok(failed !== undefined && isJsonObject(failed.data) && isJsonObject(failed.data["record"]));
    assert.deepEqual([paused.halted?.after, failed.data["record"]["end"]], [failed.id, "trap"]);
    const refused = { code: "ActorError", message: new RegExp(`paused after event ${failed.id} .*restart_actor resumes`) };
    await assert.rejects(stage.request(id, bytes("x"), never), refused);
    await assert.rejects(stage.send(id, bytes("x")), refused);
    assert.equal((await stage.restart(id)).status, "RUNNING");
    assert.equal(text(await stage.request(id, bytes("."), never)), "still here");
    await assert.rejects(stage.request(id, bytes("l"), never), { code: "ActorError", message: /500 ms|longer/ });
    assert.equal((await stage.restart("villain")).id, id);
    assert.equal(text(await stage.request(id, bytes("."), never)), "still here");
  });

  it("the caller of a guest that is stopped at work learns that it had begun", async () => {
    await using on = await openStage();
    const { id } = await on.stage.start({ manifest: BOTH, component: on.wasm("hostile"), name: "villain" });
    const computing = on.stage.request(id, bytes("l"), never);
    const waiting = on.stage.request(id, bytes("."), never);
    const ended = Promise.allSettled([computing, waiting]);
    await until("one waits", () => on.engine.queued("guest/villain") === 1);
    await on.stage.stop(id);
    await ended;
    await assert.rejects(computing, { code: "ActorNotRunning", message: /was stopped while it worked/ });
    await assert.rejects(waiting, { code: "ActorNotRunning", message: /has stopped: start_actor begins another/ });
  });

  it("a guest's metrics count calls and failures, time, memory and queue", async () => {
    await using on = await openStage();
    const { stage } = on;
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("hostile"), name: "villain" });
    await stage.request(id, bytes("."), never);
    const { metrics: well } = await stage.actor(id);
    assert.ok(well !== null && well.totalMs !== null && well.maxMs !== null && well.minMs !== null);
    assert.deepEqual([well.operations, well.failedOperations, well.queued], [2, 0, 0]);
    assert.ok(well.minMs >= 0 && well.minMs <= well.maxMs && well.maxMs <= well.totalMs);
    assert.ok(well.memoryBytes !== null && well.memoryBytes >= 65_536 && well.memoryBytes % 65_536 === 0);
    await assert.rejects(stage.request(id, bytes("u"), never), { code: "ActorError" });
    const { metrics: trapped } = await stage.actor(id);
    assert.deepEqual([trapped?.operations, trapped?.failedOperations, trapped?.memoryBytes], [3, 1, null]);
    await stage.restart(id);
    const computing = stage.request(id, bytes("l"), never);
    const waiting = [stage.request(id, bytes("."), never), stage.request(id, bytes("."), never)];
    await until("both wait for the one that computes", () => on.engine.queued("guest/villain") === 2);
    await Promise.allSettled([computing, ...waiting]);
    const { metrics: later } = await stage.actor(id);
    assert.equal(later?.failedOperations, 2);
    assert.ok((later?.maxMs ?? 0) >= (well.maxMs ?? 0));
    const door = await stage.start({ manifest: "kind:door" });
    assert.deepEqual((await stage.actor(door.id)).metrics?.failedOperations, null);
    assert.equal((await stage.actor(door.id)).metrics?.queued, 0);
  });

  it("long events make short pages, which continue in both directions", async () => {
    await using on = await openStage();
    const { stage } = on;
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("echo"), name: "echo" });
    // Each event has the data twice, in base64.
    const long = new Uint8Array(3 * 1_048_576);
    for (let n = 0; n < 6; n += 1) await stage.request(id, long, never);
    const back: string[] = [];
    const children: string[] = [];
    for (let page = await stage.events(id, { limit: 1_000 }); page.length > 0;) {
      assert.ok(page.length < 3);
      back.unshift(...page.map((event) => event.id));
      children.unshift(...page.flatMap((event) => event.children));
      page = await stage.events(id, { limit: 1_000, before: back[0] ?? "" });
    }
    assert.equal(back.length, 7);
    assert.deepEqual(children, back.slice(1));
    const forward: string[] = back.slice(0, 1);
    for (let page = 1; page > 0;) {
      const events = await stage.events(id, { limit: 1_000, after: forward.at(-1) ?? "" });
      assert.ok(events.length < 3);
      forward.push(...events.map((event) => event.id));
      page = events.length;
    }
    assert.deepEqual(forward, back);
  });

  it("a guest whose init fails does not run, and its name is free again", async () => {
    await using on = await openStage();
    const failing = on.stage.start({ manifest: BOTH, component: on.wasm("hostile"), name: "one", initialState: bytes("u") });
    await assert.rejects(failing, { code: "ActorInitializationError" });
    assert.deepEqual(await on.stage.list(10), []);
    assert.equal((await on.stage.start({ manifest: BOTH, component: on.wasm("echo"), name: "one" })).status, "RUNNING");
  });

  it("an invalid manifest or component is refused before the actor starts", async () => {
    await using on = await openStage();
    const { stage } = on;
    await assert.rejects(stage.start({ manifest: "name = " }), { code: "InvalidRequest", message: /line 1/ });
    await assert.rejects(stage.start({ manifest: BOTH, component: bytes("no component") }), { code: "InvalidRequest" });
    await assert.rejects(stage.start({ manifest: manifest([]), component: on.wasm("asker") }), {
      code: "InvalidRequest",
      message: /handlers/,
    });
    await assert.rejects(stage.start({ manifest: "/etc/passwd" }), { code: "InvalidRequest" });
    await assert.rejects(stage.start({ manifest: BOTH, component: on.wasm("echo"), name: "a/b/c".repeat(100) }), {
      code: "InvalidRequest",
    });
    assert.deepEqual(await stage.list(10), []);
  });

  it("given names address an actor, manifest names only if they are unique", async () => {
    await using on = await openStage();
    const { stage } = on;
    const started = await stage.start({ manifest: BOTH, component: on.wasm("echo"), name: "ü b?#%" });
    assert.deepEqual([started.name, started.given], ["player", "ü b?#%"]);
    assert.deepEqual(await stage.list(10), [started]);
    for (const name of ["ü b?#%", "player"]) assert.equal((await stage.actor(name)).id, started.id);
    const other = await stage.start({ manifest: BOTH, component: on.wasm("echo") });
    assert.equal(other.given, undefined);
    await assert.rejects(stage.actor("player"), { code: "InvalidRequest", message: '2 actors are called "player": say which by its id.' });
    await stage.stop("ü b?#%");
    assert.equal((await stage.actor("player")).id, other.id);
    await stage.start({ manifest: BOTH, component: on.wasm("echo"), name: "player" });
    assert.equal((await stage.actor("player")).given, "player");
    await assert.rejects(stage.actor("nobody"), { code: "ActorNotFound", message: /list_actors tells who is there/ });
  });

  it("UUIDs are accepted in any case, and a list continues after an actor", async () => {
    await using on = await openStage();
    const { stage } = on;
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("echo") });
    const other = await stage.start({ manifest: BOTH, component: on.wasm("echo") });
    assert.equal((await stage.actor(id.toUpperCase())).id, id);
    assert.equal(text(await stage.request(id.toUpperCase(), bytes("x"), never)), "x");
    await assert.rejects(stage.start({ manifest: BOTH, component: on.wasm("echo"), name: id.toUpperCase() }), { code: "InvalidRequest" });
    const [first, second] = (await stage.list(10)).map((actor) => actor.id);
    assert.deepEqual(new Set([first, second]), new Set([id, other.id]));
    assert.deepEqual(
      (await stage.list(10, first?.toUpperCase())).map((actor) => actor.id),
      [second],
    );
    await stage.stop(first ?? "");
    assert.deepEqual(
      (await stage.list(10, first)).map((actor) => actor.id),
      [second],
    );
    await assert.rejects(stage.list(10, "nope"), { code: "InvalidRequest", message: /after an actor that it had/ });
  });

  it("reads events from the end, before and after one, and by id, with children", async () => {
    await using on = await openStage();
    const { stage } = on;
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("echo"), name: "echo" });
    for (let n = 0; n < 6; n += 1) await stage.request(id, bytes(String(n)), never);
    const all = await stage.events(id, { limit: 100 });
    assert.deepEqual(
      all.map(({ parent }) => parent),
      [null, ...all.slice(0, -1).map((event) => event.id)],
    );
    assert.deepEqual(
      all.map(({ children }) => children[0]),
      [...all.slice(1).map((event) => event.id), undefined],
    );
    const ids = async (query: Parameters<typeof stage.events>[1]): Promise<readonly number[]> =>
      (await stage.events(id, query)).map((event) => all.findIndex((one) => one.id === event.id));
    assert.deepEqual(await ids({ limit: 3 }), [4, 5, 6]);
    assert.deepEqual(await ids({ limit: 3, before: all[4]?.id ?? "" }), [1, 2, 3]);
    assert.deepEqual(await ids({ limit: 3, after: all[0]?.id ?? "" }), [1, 2, 3]);
    assert.deepEqual(await ids({ limit: 3, after: all[6]?.id ?? "" }), []);
    assert.deepEqual(await stage.event(all[3]?.id ?? ""), all[3]);
    assert.equal(await stage.event("0".repeat(64)), undefined);
    await assert.rejects(stage.events(id, { limit: 3, after: "0".repeat(64) }), { code: "InvalidRequest" });
    assert.deepEqual([all[0]?.type, all[1]?.type], ["start", "request"]);
  });

  it("a channel carries messages both ways and ends with its actor", async () => {
    await using on = await openStage();
    const { stage } = on;
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("echo") });
    const heard: string[] = [];
    const peer = { message: (data: Uint8Array) => void heard.push(text(data) ?? ""), closed: (why: string) => void heard.push(why) };
    const channel = await stage.open(id, bytes("hello"), peer);
    assert.match(channel.id, /^ch_[0-9a-f]{16}$/);
    assert.equal(text(channel.greeting), "hello");
    await channel.send(bytes("on it"));
    assert.equal(text(await stage.state(id)), "on it");
    await channel.close();
    assert.equal(text(await stage.state(id)), `closed ${channel.id}`);
    await assert.rejects(channel.send(bytes("late")), { code: "ChannelClosed" });
    assert.deepEqual(heard, []);
    await stage.open(id, bytes("again"), peer);
    await stage.stop(id);
    assert.deepEqual(heard, ["the actor has stopped"]);
    await assert.rejects(stage.open(id, bytes("more"), peer), { code: "ActorNotRunning" });
  });

  it("a channel is closed although its guest takes no more calls", async () => {
    await using on = await openStage();
    const full = new Proxy(on.engine, {
      get(engine, name) {
        const member: unknown = Reflect.get(engine, name);
        if (typeof member !== "function") return member;
        return (...args: readonly unknown[]): unknown =>
          name === "call" && JSON.stringify(args[0]).includes("channel-close")
            ? Promise.reject(new EngineError("MAILBOX_FULL", "Too many calls wait."))
            : Reflect.apply(member, engine, args);
      },
    });
    const stage = new EngineStage({ engine: full, guests: on.guests, kinds: [] });
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("echo"), name: "echo" });
    const channel = await stage.open(id, bytes("hello"), { message: () => undefined, closed: () => undefined });
    await channel.close();
    assert.equal(text(await stage.request(id, bytes("after the close"), never)), "after the close");
    assert.equal(text(await stage.state(id)), `closed ${channel.id}`);
  });

  it("of two starts under one name at once, one is refused", async () => {
    await using on = await openStage();
    const starts = [1, 2].map(() => on.stage.start({ manifest: "kind:door", name: "front" }));
    const codes = await Promise.all(
      starts.map((start) =>
        start.then(
          () => "started",
          (error: unknown) => (error instanceof StageError ? error.code : String(error)),
        ),
      ),
    );
    assert.deepEqual(codes.toSorted(), ["ActorAlreadyExists", "started"]);
    await on.stage.stop("door/front");
    assert.equal((await on.stage.start({ manifest: "kind:door", name: "front" })).status, "RUNNING");
  });

  it("StateChanged marks changes of the guest's own state on every page", async () => {
    await using on = await openStage();
    const { stage } = on;
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("echo"), initialState: bytes("first") });
    const channel = await stage.open(id, bytes("first"), { message: () => undefined, closed: () => undefined });
    await channel.send(bytes("first"));
    await channel.send(bytes("second"));
    await stage.request(id, bytes("x"), never);
    await stage.restart(id);
    const all = await stage.events(id, { limit: 100 });
    const changes = ["StateChanged", "channel-open", "channel-message", "StateChanged", "request", "resume"];
    assert.deepEqual(
      all.map(({ type }) => type),
      changes,
    );
    for (const [at, { id: event }] of all.entries()) {
      assert.equal((await stage.event(event))?.type, changes[at]);
      assert.deepEqual((await stage.events(id, { limit: 1, after: event }))[0]?.type, changes[at + 1]);
    }
  });

  it("a restart leaves an event and keeps the state, paused or not", async () => {
    await using on = await openStage();
    const { stage } = on;
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("echo"), initialState: bytes("kept") });
    await stage.restart(id);
    const [event] = await stage.events(id, { limit: 1 });
    assert.deepEqual([isJsonObject(event?.data) && event.data["action"], event?.type], ["resume", "resume"]);
    assert.equal(text(await stage.state(id)), "kept");
    assert.ok((await stage.chain(id)).length > 0);
  });

  it("C5 a guest learns of a closed or lost channel before its next message", async () => {
    await using on = await openStage();
    const { stage, engine } = on;
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("echo") });
    const peer = { message: () => undefined, closed: () => undefined };
    const actions = async (): Promise<readonly unknown[]> =>
      (await stage.events(id, { limit: 100 })).map(({ data }) => (isJsonObject(data) ? data["action"] : undefined));
    await stage.open(id, bytes("hello"), peer);
    // Another process, as far as guests can tell.
    await using guests = createGuests({ contents: on.contents });
    await using next = new EngineStage({ engine, guests, kinds: [] });
    await next.request(id, bytes("who is there"), never);
    assert.deepEqual(await actions(), ["start", "channel-open", "channel-close", "request"]);
    const { id: second } = await stage.open(id, bytes("again"), peer);
    await stage[Symbol.asyncDispose]();
    await until("it hears it", async () => text(await stage.state(id)) === `closed ${second}`);
    assert.deepEqual((await actions()).slice(4), ["channel-open", "channel-close"]);
  });

  it("watchers are notified of starts, changes and ends, also of a reused name", async () => {
    await using on = await openStage();
    const { stage } = on;
    const heard: string[] = [];
    const undo = stage.watch(({ actor: of, what }) => void heard.push(`${of} ${what}`));
    const settled = async (many: number): Promise<void> => {
      while (heard.length < many) await new Promise((done) => setTimeout(done, 2));
    };
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("echo"), name: "echo" });
    await settled(1);
    await stage.request(id, bytes("1"), never);
    await settled(2);
    await stage.stop(id);
    await settled(3);
    const again = await stage.start({ manifest: BOTH, component: on.wasm("echo"), name: "echo" });
    await settled(4);
    assert.equal(again.id, id);
    assert.deepEqual(heard, [`${id} began`, `${id} changed`, `${id} ended`, `${id} began`]);
    undo();
  });

  it("Theater's chain is linked by SHA-1 and can be followed to the actor's end", async () => {
    await using on = await openStage();
    const { stage } = on;
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("echo"), name: "echo" });
    const heard: string[] = [];
    const followed: Uint8Array[] = [];
    const undo = await stage.follow(id, {
      event: (event) => void followed.push(event.hash),
      ended: (end) => void heard.push(end.how),
    });
    await stage.request(id, bytes("1"), never);
    while (followed.length < 2) await new Promise((done) => setTimeout(done, 2));
    const chain = await stage.chain(id);
    assert.deepEqual(verifyTheater(chain), { ok: true, events: chain.length });
    assert.deepEqual(
      chain.slice(-followed.length).map(({ hash }) => hash),
      followed,
    );
    await stage.stop(id);
    while (heard.length < 1) await new Promise((done) => setTimeout(done, 2));
    assert.deepEqual(heard, ["external-stop"]);
    undo();
    await stage.follow(id, { event: () => assert.fail(), ended: (end) => void heard.push(`late ${end.how}`) });
    assert.deepEqual(heard, ["external-stop", "late external-stop"]);
  });

  it("an update uses another component from the next message, with the same state", async () => {
    await using on = await openStage();
    const { stage } = on;
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("echo"), initialState: bytes("kept") });
    await stage.update(id, "globals/globals.wasm");
    assert.equal(text(await stage.state(id)), "kept");
    assert.equal(text(await stage.request(id, bytes("x"), never)), "0");
  });

  it("guests and their calls can be re-executed from the chain", async () => {
    await using on = await openStage();
    const { stage } = on;
    await stage.start({ manifest: BOTH, component: on.wasm("echo"), name: "echo" });
    for (const data of ["a", "b"]) await stage.request("echo", bytes(data), never);
    const { run, mismatches } = await on.guests.reexecute("guest/echo");
    assert.deepEqual([run, mismatches], [3, []]);
  });

  it("the chain of a stopped guest is saved if its manifest says so", async () => {
    await using on = await openStage();
    const { stage, engine } = on;
    using directory = mkdtempDisposableSync(join(tmpdir(), "troupe-chains-"));
    const faults: unknown[] = [];
    const saved = saveChains({ engine, stage, directory: directory.path, onFault: (error) => void faults.push(error) });
    const one = await stage.start({ manifest: manifest(["message-server"], "save_chain = true"), component: on.wasm("echo") });
    const other = await stage.start({ manifest: BOTH, component: on.wasm("echo") });
    await stage.request(one.id, bytes("1"), never);
    for (const { id } of [one, other]) await stage.stop(id);
    await saved();
    assert.deepEqual(faults, []);
    assert.deepEqual(await loadChain(directory.path, one.id), { events: await stage.chain(one.id) });
    assert.equal(await loadChain(directory.path, other.id), undefined);
  });

  it("the chain of a guest that is started again at once from another manifest is saved", async () => {
    await using on = await openStage();
    const { stage, engine } = on;
    using directory = mkdtempDisposableSync(join(tmpdir(), "troupe-chains-"));
    const resumed = Promise.withResolvers<void>();
    const slow = { content: (digest: string) => resumed.promise.then(() => stage.content(digest)) };
    const faults: unknown[] = [];
    const saved = saveChains({ engine, stage: slow, directory: directory.path, onFault: (error) => void faults.push(error) });
    const saving = manifest(["message-server"], "save_chain = true");
    for (const name of ["first", "second"]) await stage.start({ manifest: saving, component: on.wasm("echo"), name });
    for (const name of ["first", "second"]) await stage.stop(name);
    const { id } = await stage.start({ manifest: BOTH, component: on.wasm("echo"), name: "second" });
    resumed.resolve();
    await saved();
    assert.deepEqual(faults, []);
    assert.ok((await loadChain(directory.path, id)) !== undefined);
  });
});
