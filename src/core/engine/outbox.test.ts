import assert from "node:assert/strict";
import { test } from "node:test";
import type { Behaviour, ActorId, Engine, Json, Message, Outgoing } from "../contract/index.ts";
import { readHeader } from "../chain/index.ts";
import { memoryStore } from "../store/index.ts";
import { FaultyStore, settle, SimulatedClock, until, type Fault, type FaultPlace } from "../../testing/index.ts";
import { chainOf, tallyKind, messageTo } from "../../testing/conformance/index.ts";
import { LocalEngine, type FaultContext } from "./index.ts";

const A: ActorId = "tally/a";
const B: ActorId = "tally/b";
const send = (args: { readonly [key: string]: Json }, from: ActorId = A): Outgoing => ({ to: from, action: "send", args, start: null });

async function logOf(engine: Engine, id: ActorId): Promise<string> {
  return JSON.stringify((await engine.read(id))?.state ?? null);
}

for (const memory of [false, true]) {
  const where = memory ? "in memory" : "on disk";
  const policy = memory ? { persistence: "memory" as const } : {};
  const kinds = [tallyKind("tally", policy)];

  test(`C5 ${where}: three failures make a dead letter, which can be listed, replayed and dropped #engine.dead-letters`, async () => {
    const clock = new SimulatedClock();
    const store = memoryStore({ clock });
    const faults: FaultContext[] = [];
    await using engine = await LocalEngine.start({
      kinds,
      clock,
      onFault: (_, context) => faults.push(context),
      ...(memory ? {} : { store }),
    });
    await engine.call(send({ to: B, action: "throw", start: null }));
    await engine.call(send({ to: B, action: "note", with: { text: "behind" }, start: null }));
    await clock.advance(50);
    assert.deepEqual(await engine.letters(), []);
    assert.equal(await engine.read(B), undefined, "first in, first out: what is behind waits");
    await clock.advance(1_000);
    const [letter] = await engine.letters();
    assert.match(letter?.why ?? "", /^CRASHED: tally\/b crashed at event 1: \w*Error: ./);
    assert.equal(letter?.message.action, "throw");
    assert.equal(faults.filter(({ where: place }) => place === "turn").length, 3);
    // The operator is notified once, with the id of the dead letter.
    const report = { where: "outbox", actor: B, action: "throw" };
    assert.deepEqual(
      faults.filter(({ where: place }) => place === "outbox"),
      [{ ...report, letter: letter?.message.id, repeated: true }],
    );
    await until("what was behind arrives", async () => (await logOf(engine, B)).includes("behind"));
    assert.equal(await engine.letter("unknown", "drop"), false);
    assert.equal(await engine.letter(letter?.message.id ?? "", "replay"), true);
    await clock.advance(2_000);
    assert.equal((await engine.letters()).length, 1);
    assert.equal(await engine.letter(letter?.message.id ?? "", "drop"), true);
    assert.deepEqual(await engine.letters(), []);
  });

  test(`C5 ${where}: each replay sends another reply to a sender with replyAs`, async () => {
    const clock = new SimulatedClock();
    const replies: Message[] = [];
    let broken = true;
    const saw = (_: string, message: Message): void => {
      if (message.action === "answered") replies.push(message);
      if (message.action === "note" && broken) throw new Error("The code is broken.");
    };
    const watched = [tallyKind("tally", policy, { saw })];
    await using engine = await LocalEngine.start({ kinds: watched, clock, ...(memory ? {} : { store: memoryStore({ clock }) }) });
    const answers = async (): Promise<readonly string[]> =>
      (await logOf(engine, A)).match(/(?<=answered string tally\/b .{0,9})(refused|ok)/g) ?? [];
    await engine.call(send({ to: B, action: "note", start: null, replyAs: "answered" }));
    await clock.advance(3_000);
    const [letter] = await engine.letters();
    const of = letter?.message.id ?? "";
    assert.deepEqual(await answers(), ["refused"]);
    for (const times of [2, 3]) {
      assert.equal(await engine.letter(of, "replay"), true);
      await clock.advance(3_000);
      assert.deepEqual(
        await answers(),
        Array.from({ length: times }, () => "refused"),
      );
    }
    assert.deepEqual(
      replies.map(({ id }) => id),
      [`${of}.r`, `${of}.r1`, `${of}.r2`],
    );
    assert.equal(new Set(replies.map(({ seed }) => seed)).size, 3);
    broken = false;
    assert.equal(await engine.letter(of, "replay"), true);
    await clock.advance(3_000);
    assert.deepEqual(await answers(), ["refused", "refused", "refused", "ok"]);
  });

  test(`C5 ${where}: a missing actor refuses replyAs at once, without a dead letter`, async () => {
    const clock = new SimulatedClock();
    const faults: FaultContext[] = [];
    const onFault = (_: unknown, context: FaultContext): number => faults.push(context);
    await using engine = await LocalEngine.start({ kinds, clock, onFault, ...(memory ? {} : { store: memoryStore({ clock }) }) });
    await engine.call({ to: B, action: "note", args: null, start: null });
    await engine.stop(B, "test");
    for (const [to, refused] of [
      ["tally/missing", /tally\/missing .*NO_ACTOR/],
      [B, /tally\/b .*(?:NO_ACTOR|ACTOR_STOPPED)/],
    ] as const) {
      await engine.call(send({ to, action: "note", replyAs: "answered" }));
      // The clock stands still, so a retry would never come.
      await until(`the refusal of ${to}`, async () => refused.test(await logOf(engine, A)));
    }
    await engine.call(send({ to: "tally/missing", action: "note", replyAs: "answered" }));
    await engine.call(send({ to: "tally/missing", action: "add", start: null, replyAs: "answered" }));
    await until("the next message is delivered after it", async () => (await logOf(engine, A)).includes(String.raw`{\"ok\":1}`));
    assert.deepEqual(await engine.letters(), []);
    assert.deepEqual(faults, []);
  });

  test(`C5 ${where}: a message whose work was stopped is a dead letter at once, and does not begin the actor again`, async () => {
    const clock = new SimulatedClock();
    const gate = Promise.withResolvers<void>();
    let works = 0;
    const hooks = {
      gate: () => {
        works += 1;
        return gate.promise;
      },
    };
    await using engine = await LocalEngine.start({
      kinds: [tallyKind("tally", policy, hooks)],
      clock,
      ...(memory ? {} : { store: memoryStore({ clock }) }),
    });
    await engine.call({ to: B, action: "note", args: null, start: null });
    await engine.call(send({ to: B, action: "work", start: null }));
    await until("it works", () => works === 1);
    await engine.stop(B, "enough");
    await until("its letter is there", async () => (await engine.letters()).length === 1);
    assert.match((await engine.letters())[0]?.why ?? "", /^ACTOR_STOPPED: tally\/b was stopped while it worked/);
    await clock.advance(60_000);
    assert.equal(works, 1);
    gate.resolve();
    await engine.call(send({ to: B, action: "note", with: { text: "behind" }, start: null }));
    await until("the next message is delivered", async () => (await logOf(engine, B)).includes("behind"));
  });

  test(`C5 ${where}: a sender with replyAs is notified of a dead letter`, async () => {
    const clock = new SimulatedClock();
    const store = memoryStore({ clock });
    await using engine = await LocalEngine.start({ kinds, clock, ...(memory ? {} : { store }) });
    await engine.call(send({ to: B, action: "throw", start: null, replyAs: "answered" }));
    await clock.advance(3_000);
    assert.match(await logOf(engine, A), /answered string tally\/b .*CRASHED/);
    await engine.call(send({ to: "nowhere/x", action: "note", replyAs: "answered" }));
    await clock.advance(3_000);
    assert.match(await logOf(engine, A), /UNKNOWN_KIND/);
  });
}

test("C5 failures are counted across restarts #engine.dead-letters", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const kinds = [tallyKind("tally")];
  const open = (): Promise<LocalEngine> => LocalEngine.start({ kinds, clock, store });
  const first = await open();
  await first.call(send({ to: B, action: "throw", start: null }));
  await clock.advance(10);
  await first[Symbol.asyncDispose]();
  assert.deepEqual(
    (await store.undelivered(5)).map(({ failures }) => failures),
    [1],
  );
  const second = await open();
  await clock.advance(10);
  await second[Symbol.asyncDispose]();
  await using third = await open();
  await clock.advance(10);
  assert.equal((await third.letters()).length, 1);
});

test("C5 a partial engine leaves messages to other kinds in the store, in order #engine.c5", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const [here, there] = [tallyKind("tally"), tallyKind("other")];
  const to = "other/x";
  for (const id of ["m1", "m2"]) await store.enqueue(messageTo(to, id, { action: "note", args: { text: id }, start: null }));
  await store.enqueue(messageTo(B, "m3", { action: "note", args: { text: "m3" }, start: null }));
  for (let starts = 0; starts < 3; starts += 1) {
    await using partial = await LocalEngine.start({ kinds: [here], clock, store, partial: true });
    await partial.call(send({ to, action: "note", with: { text: `sent ${starts}` }, start: null, replyAs: "answered" }));
    await clock.advance(5_000);
    assert.match(await logOf(partial, B), /m3/);
    assert.doesNotMatch(await logOf(partial, A), /answered/);
    assert.deepEqual(await partial.letters(), []);
  }
  assert.deepEqual(new Set((await store.undelivered(10)).map(({ failures }) => failures)), new Set([0]));
  await using whole = await LocalEngine.start({ kinds: [here, there], clock, store });
  await until("all is delivered", async () => (await store.undelivered(1)).length === 0);
  const log = await logOf(whole, to);
  assert.deepEqual(log.match(/m\d/g), ["m1", "m2"]);
  assert.deepEqual(log.match(/sent \d/g), ["sent 0", "sent 1", "sent 2"]);
});

test("C5 a partial engine passes over many messages to other kinds in a few large pages #engine.c5", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const note = (to: ActorId, id: string): Promise<void> =>
    store.enqueue(messageTo(to, id, { action: "note", args: { text: id }, start: null }));
  for (let n = 0; n < 5_000; n += 1) await note("other/x", `m${n}`);
  await note(B, "last");
  let pages = 0;
  const read = store.undelivered.bind(store);
  const undelivered: typeof read = (...page) => {
    pages += 1;
    return read(...page);
  };
  Object.assign(store, { undelivered });
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], clock, store, partial: true });
  await until("the last one is delivered", async () => /last/.test(await logOf(engine, B)));
  assert.equal((await read(6_000)).length, 5_000);
  assert.ok(pages <= 4, `${pages} pages`);
});

for (const place of ["before settle", "after settle"] satisfies FaultPlace[])
  for (const action of ["refuse", "throw"])
    test(`C5 the reply to a send that had no effect (${action}) is applied once, even if the process dies ${place} #engine.c5`, async () => {
      const kinds = [tallyKind("tally")];
      const inner = memoryStore();
      // The process goes on for a while before it dies: whatever it has put down is taken up meanwhile.
      const dying = new (class extends FaultyStore {
        override async settle(...args: Parameters<FaultyStore["settle"]>): Promise<void> {
          if (place === "after settle") await super.settle(...args);
          if (args[1] === "failed") return super.settle(...args);
          await settle(20);
          this.crash();
          await new Promise<never>(() => undefined);
        }
      })(inner, () => "pass");
      const first = await LocalEngine.start({ kinds, store: dying, retryMs: 2 });
      await first.call(send({ to: B, action, start: null, replyAs: "answered" }));
      await dying.whenCrashed;
      await using second = await LocalEngine.start({ kinds, store: inner, retryMs: 2 });
      await until("the outbox is empty", async () => (await inner.undelivered(1)).length === 0);
      const actions = (await chainOf(second, A)).map((event) => readHeader(event).type);
      assert.deepEqual(actions, ["send", "answered"]);
    });

test("C5 a failing store does not count as a failure of the message", async () => {
  const clock = new SimulatedClock();
  let fault: Fault = "pass";
  const store = new FaultyStore(memoryStore({ clock }), (place) => (place === "before commit" ? fault : "pass"));
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], clock, store });
  await engine.call(send({ to: B, action: "note", with: { text: "at last" }, start: null }));
  fault = "fail";
  await clock.advance(5_000);
  assert.deepEqual(await engine.letters(), []);
  fault = "pass";
  await clock.advance(1_000);
  assert.match(await logOf(engine, B), /at last/);
  assert.equal((await chainOf(engine, B)).length, 1);
});

test("C5 more sends than fit in memory still arrive in order, once", async () => {
  const store = memoryStore();
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally", { maxStateBytes: 10_000_000 })], store });
  const TIMES = 700;
  for (let round = 0; round < 5; round += 1)
    await engine.call({ to: A, action: "send-many", args: { to: B, text: `${round}.`, times: TIMES }, start: null });
  await engine[Symbol.asyncDispose]();
  await using again = await LocalEngine.start({ kinds: [tallyKind("tally", { maxStateBytes: 10_000_000 })], store });
  await again.call({ to: A, action: "send-many", args: { to: B, text: "last.", times: 10 }, start: null });
  await until("all arrived", async () => (await store.undelivered(1)).length === 0);
  await until("all landed", async () => (await logOf(again, B)).includes("last.9"));
  const log: { log: string[] } = JSON.parse(await logOf(again, B));
  const expected = [
    ...[0, 1, 2, 3, 4].flatMap((round) => Array.from({ length: TIMES }, (_, n) => `${round}.${n}`)),
    ...Array.from({ length: 10 }, (_, n) => `last.${n}`),
  ];
  assert.deepEqual(log.log.slice(1), expected);
});

test("C5 only some of many large sends are in memory at a time, and all arrive in order, once", async () => {
  const store = memoryStore();
  const text = "x".repeat(1_000_000);
  const ids = Array.from({ length: 60 }, (_, n) => `m${n}`);
  for (const id of ids) await store.enqueue(messageTo(B, id, { from: A, args: { text }, start: null }));
  const [undelivered, commit] = [store.undelivered.bind(store), store.commit.bind(store)];
  let most = 0;
  store.undelivered = async (_limit, damaged, except = new Set()) => {
    const page = await undelivered(8, damaged, except);
    most = Math.max(most, except.size + page.length);
    return page;
  };
  const gate = Promise.withResolvers<void>();
  store.commit = async (id, entry) => {
    await gate.promise;
    return commit(id, entry);
  };
  const counting = tallyKind(
    "tally",
    {},
    {},
    { autoStart: true, receive: (state, { id }) => ({ state: { ...state, log: [...state.log, id] } }) },
  );
  await using engine = await LocalEngine.start({ kinds: [counting], store });
  await settle(50);
  assert.equal(most, 48, "as many as are 256 MiB at most, to the end of a page");
  gate.resolve();
  await until("all arrived", async () => (await undelivered(1)).length === 0);
  assert.deepEqual((await engine.read(B))?.state, { n: 0, log: ["begun b", ...ids] });
});

for (const persistence of ["memory", "disk"] as const)
  test(`two actors that send to each other forever do not block the event loop (${persistence}, all in memory)`, async () => {
    let turns = 0;
    const echo = tallyKind(
      "echo",
      { persistence },
      {},
      {
        receive: (state, message) => {
          turns += 1;
          return turns > 20_000
            ? {}
            : {
                state: { ...state, n: state.n + 1 },
                send: [{ to: message.to === "echo/a" ? "echo/b" : "echo/a", action: "echo", args: null, start: null }],
              };
        },
      },
    );
    await using store = memoryStore();
    await using engine = await LocalEngine.start({ kinds: [echo], store });
    await engine.call({ to: "echo/a", action: "echo", args: null, start: null });
    await new Promise<void>((resolve) => setImmediate(resolve));
    const early = turns;
    assert.ok(early < 5_000, "the event loop turned in between");
    await until("they go on", () => turns > early);
  });

test("C5 a send whose commit has an unknown outcome is delivered before later ones, without a restart", async () => {
  const clock = new SimulatedClock();
  let silent = false;
  const store = new FaultyStore(memoryStore({ clock }), (place) =>
    silent && (place === "after commit" || place === "before event" || place === "after enqueue") ? "lose" : "pass",
  );
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], clock, store });
  const note = (text: string) => engine.call(send({ to: B, action: "note", with: { text }, start: null }));
  await note("one");
  silent = true;
  await assert.rejects(note("two"), { code: "OUTCOME_UNKNOWN" });
  silent = false;
  await Promise.all([note("three"), note("four")]);
  await clock.advance(1_000);
  await until("all have arrived", async () => (await logOf(engine, B)).includes("four"));
  assert.deepEqual((await logOf(engine, B)).match(/one|two|three|four/g), ["one", "two", "three", "four"]);

  const direct = (text: string) => engine.send({ to: B, action: "note", args: { text }, start: null });
  silent = true;
  await assert.rejects(direct("five"));
  silent = false;
  await direct("six");
  await clock.advance(1_000);
  await until("both have arrived", async () => (await logOf(engine, B)).includes("six"));
  assert.deepEqual((await logOf(engine, B)).match(/five|six/g), ["five", "six"]);
});

test("C5 a dead letter with secret arguments does not repeat what its handler threw #engine.dead-letters", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const vault = tallyKind("vault");
  const kinds = [
    tallyKind("tally"),
    {
      ...vault,
      receive: (_: unknown, { args }: Message) => {
        throw new Error(`wrong: ${JSON.stringify(args)}`);
      },
      redact: () => "[hidden]",
    },
  ];
  const faults: unknown[] = [];
  await using engine = await LocalEngine.start({ kinds, clock, store, onFault: (_, context) => void faults.push(context) });
  await engine.call(send({ to: "vault/one", action: "note", with: { text: "4711" }, start: null }));
  await clock.advance(1_000);
  const [letter] = await engine.letters();
  assert.match(letter?.why ?? "", /crashed at event 1: Error, whose text is hidden/);
  assert.equal((letter?.why ?? "").includes("4711"), false);
  // Both the turns and the letter are reported.
  const about = { actor: "vault/one", action: "note", hasSecrets: true };
  assert.deepEqual(faults[0], { where: "turn", ...about });
  assert.deepEqual(faults.at(-1), { where: "outbox", ...about, letter: letter?.message.id, repeated: true });
});

test("C5 dead letters of memory actors come after all that are stored, also in pages", async () => {
  const clock = new SimulatedClock();
  const inner = memoryStore({ clock });
  // A page of large letters ends early.
  const store = new Proxy(inner, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (name === "letters") return async (limit: number, ...more: []) => target.letters(Math.min(limit, 1), ...more);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const kinds = [tallyKind("tally"), tallyKind("brief", { persistence: "memory" })];
  await using engine = await LocalEngine.start({ kinds, clock, store });
  for (const from of ["tally/a", "tally/a", "brief/a"] as const) {
    await engine.call(send({ to: from === "brief/a" ? "brief/b" : B, action: "throw", start: null }, from));
    await clock.advance(2_000);
  }
  const seen = new Set<string>();
  const found: ActorId[] = [];
  for (let page = await engine.letters(10, seen); page.length > 0; page = await engine.letters(10, seen))
    for (const { message } of page) {
      seen.add(message.id);
      found.push(message.to);
    }
  assert.deepEqual(found, [B, B, "brief/b"]);
});

test("C5 a send right after the one that starts its actor is not refused, however many are on their way", async () => {
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally", {})], store: memoryStore() });
  const ids = Array.from({ length: 600 }, (_, n): ActorId => `tally/${n}`);
  await Promise.all(
    ids.map(async (to) => {
      await engine.send({ to, action: "add", args: null, start: null });
      await engine.send({ to, action: "add", args: null });
    }),
  );
  await until("all are applied", async () => (await Promise.all(ids.map((id) => engine.read(id)))).every((one) => one?.messageCount === 2));
  await assert.rejects(engine.send({ to: "tally/missing", action: "add", args: null }), { code: "NO_ACTOR" });
});

for (const persistence of ["disk", "memory"] as const)
  test(`C5 sends and calls follow an unawaited send that starts their actor (${persistence})`, async () => {
    await using engine = await LocalEngine.start({ kinds: [tallyKind("tally", { persistence })], store: memoryStore() });
    const note = (text: string, more?: Partial<Outgoing>): Promise<void> => engine.send({ to: A, action: "note", args: { text }, ...more });
    const sent = [note("one", { start: null }), note("two"), note("three")];
    assert.deepEqual(await engine.call({ to: A, action: "note", args: { text: "four" } }), { ok: null });
    await Promise.all(sent);
    await until("all are applied", async () => (await engine.read(A))?.messageCount === 4);
    assert.match(await logOf(engine, A), /one.*two.*three.*four/);
  });

/** As a program in plain JavaScript may pass it. */
const untyped = (outgoing: object): Outgoing => JSON.parse(JSON.stringify(outgoing));

test("C5 a message without an action is refused, and later calls are not held up by it", async () => {
  const sends: Behaviour = { ...tallyKind("sends"), receive: () => ({ send: [untyped({ to: A, args: null })] }) };
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally"), sends], store: memoryStore() });
  await engine.call({ to: A, action: "add", args: null, start: null });
  await assert.rejects(engine.send(untyped({ to: A, args: null })), { name: "EngineError", code: "BAD_TURN", applied: false });
  await assert.rejects(engine.call({ to: "sends/one", action: "any", args: null, start: null }), { code: "CRASHED" });
  assert.deepEqual(await engine.call({ to: A, action: "add", args: null }), { ok: 2 });
});
