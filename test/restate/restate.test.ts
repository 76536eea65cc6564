// The distributed engine against a real server: what the unit tests of src/hosts/restate claim, shown.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readBody, readHeader, reexecute, sha256, verify } from "../../src/core/chain/index.ts";
import {
  DEFAULT_POLICY,
  systemClock,
  systemEntropy,
  type ActorId,
  type Behaviour,
  type ChainEvent,
  type Clock,
  type Entropy,
  type Outgoing,
  type Receipt,
} from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { isRestateSdk, RestateEngine, type RestateOptions } from "../../src/hosts/restate/index.ts";
import { memoryStore } from "../../src/core/store/index.ts";
import { until } from "../../src/testing/index.ts";
import { chainOf, golden, goldenCalls, runGolden, tallyKind } from "../../src/testing/conformance/index.ts";
import { install } from "./install.ts";
import { RestateServer } from "./restate-server.ts";

const DISTRIBUTED = { ...DEFAULT_POLICY, persistence: "distributed" } as const;

/** Work waits until the test lets it go on. */
class Gate {
  readonly #entered = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();
  readonly entered = this.#entered.promise;
  readonly open = this.#opened.resolve;

  pass(): Promise<void> {
    this.#entered.resolve();
    return this.#opened.promise;
  }
}

const gate = new Gate();
const shown = new Gate();
const hidden = new Gate();

const gated: Behaviour = {
  kind: "gated",
  version: 1,
  policy: DISTRIBUTED,
  initial: () => [],
  receive: (_, { action }) =>
    action === "troupe/begin"
      ? {}
      : async () => {
          await gate.pass();
          return { state: ["worked"] };
        },
};

/** Takes what is told to it in every way there is. */
const vault = (kind: string, at: Gate, redact: boolean): Behaviour => ({
  kind,
  version: 1,
  policy: DISTRIBUTED,
  initial: () => 0,
  receive(state, { action, args, to }) {
    const next = Number(state) + 1;
    if (action === "fail") throw new Error("It fails on purpose.");
    if (action === "send") {
      const other = (key: string, as: string) => ({ to: `${kind}/${key}`, action: as, args, start: null }) as const;
      return { state: next, send: [other("sent", "take"), other("sent", "fail"), other("sent", "take")] };
    }
    if (action !== "work") return { state: next, record: { told: args } };
    return async (context) => {
      await context.call({ to: `${kind}/called`, action: "take", args, start: null });
      if (to.endsWith("/held")) await at.pass();
      return { state: next, record: { told: args } };
    };
  },
  ...(redact ? { redact: () => "•" } : {}),
});

let directory: string;
let server: RestateServer;
let sdk: RestateOptions["sdk"];
let engine: RestateEngine;

const open = async (options: Partial<RestateOptions> = {}): Promise<RestateEngine> => {
  const started = await RestateEngine.start({
    ingress: server.ingress,
    admin: server.admin,
    sdk,
    kinds: [golden("distributed"), gated, vault("safe", hidden, true), vault("open", shown, false)],
    secret: Buffer.alloc(32, "a secret of these tests"),
    ...options,
  });
  return started;
};

before(async () => {
  const installed = await install();
  assert.ok(isRestateSdk(installed.sdk), "the SDK has the shape that is used");
  sdk = installed.sdk;
  directory = await mkdtemp(join(tmpdir(), "troupe-restate-data-"));
  // Compressed, nothing would be found in its files.
  const executable = join(directory, "server");
  await writeFile(executable, `#!/bin/sh\nexport RESTATE_ROCKSDB_DISABLE_WAL_COMPRESSION=true\nexec '${installed.server}' "$@"\n`, {
    mode: 0o700,
  });
  server = await RestateServer.start(executable, { directory: join(directory, "data") });
  engine = await open();
  await server.register(engine.url);
});

after(async () => {
  await engine?.[Symbol.asyncDispose]();
  await server?.kill();
  await server?.[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

const counting = (): Entropy => {
  let drawn = 0;
  return { hex: (bytes) => sha256(`draw ${drawn++}`).slice(0, bytes * 2), uuid: () => "unused" };
};

const stopped: Clock = { now: () => 5_000, after: (ms, run) => systemClock.after(ms, run) };

void test("the golden workload leaves byte-equal chains in the local engine and on the server #cluster.chains", async () => {
  await using store = memoryStore();
  await using local = await LocalEngine.start({ kinds: [golden("disk")], store, clock: stopped, entropy: counting() });
  const told = await runGolden(local, goldenCalls());
  await using distributed = await open({ prefix: "golden-", kinds: [golden("distributed")], clock: stopped, entropy: counting() });
  await server.register(distributed.url);
  assert.deepEqual(await runGolden(distributed, goldenCalls()), told);
  for (const id of ["golden/some%20one", "golden/other"] as const) {
    const chain = await chainOf(local, id);
    await until("all that was sent has arrived", async () => (await distributed.read(id))?.seq === chain.length);
    assert.deepEqual(await chainOf(distributed, id), chain);
    assert.equal(verify(chain).flaw, undefined);
    assert.deepEqual(reexecute(golden("distributed"), chain).mismatches, []);
    const known = (await local.read(id)) ?? assert.fail();
    assert.deepEqual(await distributed.read(id), { ...known, persistence: "distributed" });
  }
});

void test("C4 a key that was applied gets its first reply again, one that was not runs again, and principals do not share keys #cluster.keys", async () => {
  const to = "golden/keyed";
  const call = (action: string, key: string, principal: string) =>
    engine.call({ to, action, args: null, start: null, viewer: { principal, scopes: [] } }, { key });
  const first = await call("push", "one", "ann");
  assert.deepEqual(await call("push", "one", "ann"), first);
  assert.notDeepEqual(await call("push", "one", "ben"), first);
  assert.ok("refused" in (await call("refuse", "two", "ann")));
  assert.deepEqual(await call("push", "two", "ann"), { ok: [3, null] });
  await assert.rejects(call("crash", "three", "ann"), { code: "CRASHED", applied: false });
  assert.deepEqual(await call("push", "three", "ann"), { ok: [4, null] });
  assert.equal((await chainOf(engine, to)).length, 4);
});

void test("law 2: a read beside running work sees the last durable state and does not wait", async () => {
  const to = "gated/one";
  await engine.call({ to, action: "troupe/begin", args: null, start: null });
  const working = engine.call({ to, action: "work", args: null });
  await gate.entered;
  assert.deepEqual((await engine.read(to))?.state, []);
  gate.open();
  await working;
  assert.deepEqual((await engine.read(to))?.state, ["worked"]);
});

void test("what cannot become text is named before anything goes to the server", async () => {
  const untyped: Outgoing = Object.assign(
    { to: "golden/never", action: "draw", args: null, start: null },
    Object({ trace: { traceparent: 1n } }),
  );
  const reply = await engine.call(untyped);
  assert.equal("refused" in reply && reply.refused.message, "Invalid message: trace.traceparent: is a BigInt: pass its text.");
  await assert.rejects(engine.send(untyped), {
    code: "BAD_TURN",
    message: /^A message to golden\/never is no JSON: trace\.traceparent is a BigInt/,
  });
  assert.equal(await engine.read("golden/never"), undefined);
});

void test("C5 what a turn sends arrives once and in order", async () => {
  await engine.call({ to: "golden/other", action: "draw", args: null, start: null });
  const from = (await chainOf(engine, "golden/other")).length;
  for (let n = 0; n < 10; n += 1) await engine.call({ to: "golden/teller", action: "tell", args: null, start: null });
  const sent = (await chainOf(engine, "golden/teller")).flatMap(
    (event) => readBody(event)?.sent.filter((_, index) => index % 2 === 0) ?? [],
  );
  const arrived = async (): Promise<readonly ChainEvent[]> => (await chainOf(engine, "golden/other")).slice(from);
  await until("all has arrived", async () => (await arrived()).length >= sent.length);
  assert.deepEqual(
    (await arrived()).map((event) => Object(readBody(event)?.message)["id"]),
    sent,
  );
});

void test("a wake that is due while its node is being restarted rings once another runs, and one that is not due yet later #cluster.timers", async () => {
  const kinds = [tallyKind("sleeper", { persistence: "distributed" })];
  const to = "sleeper/one";
  const first = await open({ prefix: "wakes-", kinds });
  await server.register(first.url);
  const soon = systemClock.now() + 300;
  for (const [name, at] of [
    ["soon", soon],
    ["later", soon + 300],
  ] as const)
    await first.call({ to, action: "wake", args: { name, at }, start: null });
  await first[Symbol.asyncDispose]();
  await until("it was due", () => systemClock.now() > soon);
  await using second = await open({ prefix: "wakes-", kinds, listen: { port: Number(new URL(first.url).port) } });
  const ticks = async (): Promise<readonly ChainEvent[]> =>
    (await chainOf(second, to)).filter((event) => readHeader(event).type === "tick");
  await until("both rang", async () => (await ticks()).length === 2);
  for (const [n, tick] of (await ticks()).entries()) assert.ok(readHeader(tick).at >= soon + n * 300, "none rings before its time");
  assert.equal(verify(await chainOf(second, to)).flaw, undefined);
});

/** A node that takes turns, and one that calls only. The first is replaced when `during` has come to an end. */
async function replaced(prefix: string, kinds: readonly Behaviour[], call: Outgoing, during: () => Promise<void>): Promise<unknown> {
  await using caller = await open({ prefix, kinds });
  const first = await open({ prefix, kinds });
  await server.register(first.url);
  const replied = caller.call(call);
  await during();
  await first[Symbol.asyncDispose]();
  await using _ = await open({ prefix, kinds, listen: { port: Number(new URL(first.url).port) } });
  return await replied;
}

void test("C4 work whose node stops while it waits for another actor gets that actor's reply on the next node #cluster.again", async () => {
  const at = new Gate();
  let begun = 0;
  const pass = async (): Promise<void> => {
    begun += 1;
    if (begun > 1) at.open();
    await at.pass();
  };
  const kinds = [tallyKind("asking", { persistence: "distributed" }, { gate: pass })];
  const work = { to: "asking/other", action: "work", with: { by: 5 }, start: null };
  const reply = await replaced("asking-", kinds, { to: "asking/one", action: "call", args: work, start: null }, () => at.entered);
  assert.deepEqual(reply, { ok: 5 });
});

void test("C4 work that runs again and calls otherwise is not given the reply to its first call", async () => {
  const at = new Gate();
  let runs = 0;
  const wavering: Behaviour = {
    kind: "wavering",
    version: 1,
    policy: DISTRIBUTED,
    initial: () => null,
    receive: () => async (context) => {
      const by = (runs += 1);
      const reply = await context.call({ to: "counted/one", action: "add", args: { by }, start: null });
      if (by === 1) await at.pass();
      return { reply };
    },
  };
  const kinds = [wavering, tallyKind("counted", { persistence: "distributed" })];
  const reply = await replaced("wavering-", kinds, { to: "wavering/one", action: "go", args: null, start: null }, () => at.entered);
  assert.deepEqual(reply, { ok: 3 });
});

async function rowsOf(table: string): Promise<string> {
  const response = await fetch(`${server.admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query: `SELECT * FROM ${table}` }),
  });
  assert.ok(response.ok, `${table}: ${response.status}`);
  return response.text();
}

async function* filesOf(path: string): AsyncGenerator<string> {
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) yield join(entry.parentPath, entry.name);
}

/** In which of the server's tables and files a text is. */
async function holding(text: string): Promise<readonly string[]> {
  const found: string[] = [];
  const bytes = Buffer.from(text);
  // As tables show bytes: in hexadecimal, as JSON, as the text they are.
  const forms = [text, bytes.toString("hex"), bytes.join(",")];
  for (const table of ["sys_journal", "sys_invocation", "sys_inbox", "state"]) {
    const rows = await rowsOf(table);
    if (forms.some((form) => rows.includes(form))) found.push(table);
  }
  for await (const path of filesOf(directory)) {
    // The server throws files away at any time.
    const content = await readFile(path).catch(() => Buffer.alloc(0));
    if (content.includes(bytes)) found.push("files");
  }
  return [...new Set(found)];
}

void test("what a kind redacts is nowhere on the server: not while it is worked on, nor after, nor in dead letters #cluster.redact", async () => {
  const texts = { safe: `hush ${systemEntropy.hex(16)}`, open: `plain ${systemEntropy.hex(16)}` };
  const held: Promise<unknown>[] = [];
  for (const [kind, text] of Object.entries(texts)) {
    const call = (key: string, action: string, options = {}): Promise<unknown> =>
      engine.call({ to: `${kind}/${key}`, action, args: { text }, start: null }, options);
    await call("one", "take", { key: "keyed" });
    await call("one", "work");
    await call("one", "send");
    await assert.rejects(call("one", "fail"), { code: "CRASHED" });
    held.push(call("held", "work"));
  }
  await Promise.all([hidden.entered, shown.entered]);
  await until("both are dead letters", async () => (await engine.letters()).length === 2);
  const during = await holding(texts.open);
  for (const place of ["sys_journal", "state", "files"]) assert.ok(during.includes(place), `what is not secret is found in ${place}`);
  assert.deepEqual(await holding(texts.safe), []);
  hidden.open();
  shown.open();
  await Promise.all(held);
  await until("what was sent has arrived", async () => (await engine.read("safe/sent"))?.seq === 2);
  assert.deepEqual(await holding(texts.safe), []);
  const letters = await engine.letters();
  assert.deepEqual(
    new Set(letters.map(({ message: { args } }) => Object(args)["text"])),
    new Set(Object.values(texts)),
    "whoever has the secret reads it",
  );
  for (const { message } of letters) assert.ok(await engine.letter(message.id, "drop"));
});

void test("a message of 14 MiB reaches an actor whose last event was as large", async () => {
  const [to, text] = ["safe/large", "x".repeat(14 * 2 ** 20)] as const;
  for (let n = 0; n < 3; n += 1) assert.deepEqual(await engine.call({ to, action: "take", args: text, start: null }), { ok: null });
  assert.equal((await engine.read(to))?.state, 3);
});

void test("a node that closes waits for its own callers and its running turns, and not for what work calls", async () => {
  const entered = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const wait = async (): Promise<void> => {
    entered.resolve();
    await opened.promise;
  };
  const options = { prefix: "closing-", kinds: [tallyKind("step", {}, { gate: wait }, { autoStart: true })] };
  const graceMs = 123_456;
  let isOver = false;
  const patience: Clock = {
    now: () => systemClock.now(),
    after: (ms, run) =>
      ms === graceMs
        ? systemClock.after(5_000, () => {
            isOver = true;
            run();
          })
        : systemClock.after(ms, run),
  };
  const faults: unknown[] = [];
  const node = await open({ ...options, patience, onFault: (error) => faults.push(error) });
  await server.register(node.url);
  await using caller = await open(options);
  const call = (to: ActorId, action: string, args: Outgoing["args"] = null) => caller.call({ to, action, args });
  await call("step/a", "add");
  await call("step/b", "add");
  const outer = call("step/a", "call", { to: "step/b", action: "work" });
  await entered.promise;
  const closing = node.close({ graceMs });
  opened.resolve();
  await closing;
  assert.equal(isOver, false);
  assert.deepEqual(await outer, { ok: 2 });

  const port = Number(new URL(node.url).port);
  const next = await open({ ...options, listen: { port }, onFault: (error) => faults.push(error) });
  const deferred = call("step/a", "call", { to: "step/b", action: "later" });
  await until("it waits", async () => JSON.stringify((await caller.read("step/b"))?.state).includes("later"));
  await next.close();
  await using _ = await open({ ...options, listen: { port } });
  await call("step/b", "answer", { value: 7 });
  assert.deepEqual(await deferred, { ok: 7 });
  assert.deepEqual(faults, [], "what was cut off has not failed");
});

void test("kill −9 of the server under load: every acknowledged call, keyed or not, is in its chain exactly once, and the chains verify #cluster.killed", async () => {
  const actors = 4;
  const callers = 16;
  const callsEach = 40;
  const receipts: (Receipt & { readonly args: string })[] = [];
  let pauses = 0;
  const counted: Clock = {
    now: () => systemClock.now(),
    after(ms, run) {
      pauses += 1;
      return systemClock.after(ms, run);
    },
  };
  await using patient = await open({ patience: counted });
  let killed = 0;
  const killAt = new Set([150, 400]);
  let restarting: Promise<void> | undefined;
  const killAndRestart = async (): Promise<void> => {
    await server.kill();
    killed += 1;
    await server.restart();
  };
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let n = 0; n < callsEach; n += 1) {
        const args = `${caller}/${n}`;
        const action = n % 5 === 0 ? "work" : "put";
        const outgoing = { to: `golden/hit-${caller % actors}`, action, args: { [`caller ${caller}`]: args }, start: null } as const;
        await patient.call(outgoing, {
          ...(n % 2 === 0 ? { key: args } : {}),
          onReceipt: (receipt) => receipts.push({ ...receipt, args }),
        });
        if (killAt.delete(receipts.length)) restarting = killAndRestart();
      }
    }),
  );
  await restarting;
  assert.equal(killed, 2);
  assert.ok(pauses > 0, `callers were cut off and tried again ${pauses} times`);
  assert.equal(receipts.length, callers * callsEach);
  const found = new Map<string, number>();
  for (let actor = 0; actor < actors; actor += 1) {
    const id: ActorId = `golden/hit-${actor}`;
    const chain = await chainOf(engine, id);
    assert.equal(verify(chain, { actor: id, receipts: receipts.filter((receipt) => receipt.actor === id) }).flaw, undefined);
    assert.equal((await engine.read(id))?.head, chain.at(-1)?.id);
    for (const event of chain) {
      const args: unknown = Object.values(Object(Object(readBody(event)?.message)["args"]))[0];
      assert.ok(typeof args === "string");
      found.set(args, (found.get(args) ?? 0) + 1);
      const receipt = receipts.find((given) => given.args === args);
      assert.deepEqual({ seq: receipt?.seq, head: receipt?.head }, { seq: readHeader(event).seq, head: event.id });
    }
  }
  assert.equal(found.size, callers * callsEach);
  assert.ok([...found.values()].every((times) => times === 1));
});
