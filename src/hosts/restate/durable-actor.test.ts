// slow: every case is cut at each of its steps and runs again
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readBody, readHeader, reexecute, sha256, verify } from "../../core/chain/index.ts";
import {
  DEFAULT_POLICY,
  type ActorId,
  type Behaviour,
  type ChainEvent,
  type Clock,
  type Entropy,
  type Json,
} from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { settle, SimulatedClock, SimulatedEntropy } from "../../testing/index.ts";
import { chainOf, golden, goldenCalls, runGolden, tallyKind } from "../../testing/conformance/index.ts";
import { mapHandler, actorsOfKind } from "./directory.ts";
import type { DurableContext } from "./durable-context.ts";
import { Journal } from "./journal.fixture.ts";
import { MapText } from "./map-text.fixture.ts";
import { cutEverywhere, played, replyOf, type Story } from "./story.fixture.ts";
import { World } from "./world.fixture.ts";
import { deferredReplyKey } from "./turn-writes.ts";

const ID = "golden/some%20one";
/** Events of an archive segment, and the most that an actor's own key has. */
const MOST_OWN = 32;

const clockAt = (at: number): Clock => ({
  now: () => at,
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
});

function counting(): Entropy {
  let drawn = 0;
  return { hex: (bytes) => sha256(`draw ${drawn++}`).slice(0, bytes * 2), uuid: () => "unused" };
}

const playGolden = async (): Promise<{ world: World; replies: readonly Json[]; events: readonly ChainEvent[] }> => {
  const world = new World({ kinds: [golden("distributed")], entropy: counting(), now: 5_000 });
  const replies: Json[] = [];
  for (const { outgoing } of goldenCalls(ID)) replies.push(replyOf(await world.call(outgoing)));
  return { world, replies, events: await world.chain(ID) };
};

void test("the golden workload leaves byte-equal chains in the local engine and in durable turns", async () => {
  await using store = memoryStore();
  await using engine = await LocalEngine.start({ kinds: [golden("disk")], store, clock: clockAt(5_000), entropy: counting() });
  const local = await runGolden(engine, goldenCalls(ID));
  const { world, replies, events } = await playGolden();
  assert.deepEqual(replies, local);
  for (const id of [ID, "golden/other"] as const) {
    const chain: ChainEvent[] = [];
    for await (const event of engine.history(id)) chain.push(event);
    assert.deepEqual(await world.chain(id), chain);
    const known = (await engine.read(id)) ?? assert.fail();
    const read: unknown = await world.ask(world.names.actor(id, "read"), null);
    assert.deepEqual(read, { value: { ...known, persistence: "distributed" } });
  }
  assert.ok(events.length > 2 * MOST_OWN);
  const wholes = events.filter((event) => readBody(event)?.state !== undefined);
  assert.ok(wholes.length > 2 && wholes.length < events.length / 2, "both whole states and patches");
});

void test("law 4: a turn that is cut anywhere and run again leaves the same chain, keys, sends and replies #cluster.again", async () => {
  await cutEverywhere({
    kinds: [golden("distributed")],
    options: { now: 5_000 },
    async play(world) {
      const replies: Json[] = [];
      for (const { outgoing } of goldenCalls(ID)) replies.push(replyOf(await world.call(outgoing)));
      return replies;
    },
  });
});

void test("C3 what throws, refuses, needs or is not JSON sets no key and sends nothing, in work too #cluster.values", async () => {
  const { world, replies } = await playGolden();
  const turns = world.invoked.filter(({ handler }) => handler === "turn");
  assert.equal(turns.length, replies.length);
  let vain = 0;
  for (const [index, { effects }] of turns.entries()) {
    const value = replies[index];
    if (typeof value === "object" && value !== null && "ok" in value) continue;
    vain += 1;
    const left = effects.filter((effect) => !/^(set|clear) work/.test(effect));
    assert.deepEqual(left, [], `turn ${index} got ${JSON.stringify(value)}`);
  }
  assert.ok(vain > 10);
  assert.ok(!Object.keys(world.storedKeys("actor-")).some((name) => name.endsWith(" work")), "the mark of work is removed with it");
});

void test("C5 a send that its receiver does not handle is reported, unless its sender asks for the reply", async () => {
  const world = new World({ kinds: [tallyKind("tally", { persistence: "distributed" })] });
  const send = (args: { readonly [key: string]: Json }) => world.call({ to: "tally/a", action: "send", args, start: null });
  await send({ to: "tally/b", action: "taek", start: null });
  await send({ to: "tally/b", action: "taek", start: null, replyAs: "answered" });
  await world.settle();
  assert.equal(world.thrown.length, 1, world.thrown.join("\n"));
  assert.match(world.thrown[0] ?? "", /^tally\/b refused "taek" of tally\/a \(UNKNOWN\), and nobody asked for the answer/);
});

void test("C6 one state key is written per turn that leaves an event, once, after what is archived #cluster.key", async () => {
  const { world, events } = await playGolden();
  const writing = world.invoked.filter(({ effects }) => effects.some((effect) => effect.startsWith("set actor ")));
  assert.equal(writing.length, events.length + (await world.chain("golden/other")).length);
  let archived = 0;
  for (const { effects } of writing) {
    assert.equal(effects.filter((effect) => effect.startsWith("set actor ")).length, 1);
    const put = effects.findIndex((effect) => effect.startsWith("send archive-"));
    if (put !== -1) archived += 1;
    assert.ok(put < effects.findIndex((effect) => effect.startsWith("set actor ")));
  }
  assert.ok(archived >= Math.floor(events.length / MOST_OWN) - 1);
  const own = Object.entries(world.storedKeys("actor-golden/some%20one"));
  assert.deepEqual(
    own.map(([name]) => name),
    ["actor-golden/some%20one actor"],
  );
});

void test("C7 the chain verifies, runs again as recorded, and contains no secrets", async () => {
  const { world, events } = await playGolden();
  assert.equal(verify(events, { actor: ID }).flaw, undefined);
  assert.deepEqual(reexecute(golden("distributed"), events).mismatches, []);
  assert.ok(!events.some(({ body }) => body?.includes("hidden")));
  assert.ok(!JSON.stringify(world.storedKeys()).includes("hidden"));
});

const TALLY = "tally/main";
const tally = (policy: Parameters<typeof tallyKind>[1] = {}): Behaviour => tallyKind("tally", policy);
const other = (policy: Parameters<typeof tallyKind>[1] = {}): Behaviour => tallyKind("other", policy);

type Step = readonly [action: string, args?: Json, more?: { readonly to?: ActorId; readonly key?: string; readonly start?: Json }];

const calls = async (world: World, steps: readonly Step[]): Promise<readonly Json[]> => {
  const replies: Json[] = [];
  for (const [action, args = null, { to = TALLY, key, start = null } = {}] of steps)
    replies.push(replyOf(await world.call({ to, action, args, start }, key === undefined ? {} : { key })));
  return replies;
};

const shortly = (replies: unknown): readonly string[] =>
  (Array.isArray(replies) ? replies : []).map((one: unknown) => {
    const { ok, refused, fault, later } = Object(one);
    return fault ?? (refused === undefined ? (later === undefined ? JSON.stringify(ok) : "later") : `refused ${refused.code}`);
  });

const KEYED: readonly Step[] = [
  ["add", { by: 2 }, { key: "one" }],
  ["add", { by: 2 }, { key: "one" }],
  ["add", { by: 3 }, { key: "one" }],
  ["refuse", null, { key: "two" }],
  ["add", { by: 5 }, { key: "two" }],
  ["work", { by: 10 }, { key: "three" }],
  ["work", { by: 10 }, { key: "three" }],
  ["throw", null, { key: "four" }],
  ["add", { by: 100 }, { key: "four" }],
];

const LATER: readonly Step[] = [
  ["later", null],
  ["later", null, { key: "mine" }],
  ["later", null, { key: "mine" }],
  ["send", { to: TALLY, action: "later", replyAs: "answered" }, { to: "other/asker" }],
  ["answer", { value: 7 }],
  ["later", null, { key: "mine" }],
  ["answer", { value: 8 }],
];

const SENDS: readonly Step[] = [
  ["send-many", { to: "other/heap", text: "note ", times: 5 }],
  ["send", { to: "other/heap", action: "get", replyAs: "answered" }],
  ["send", { to: "other/heap", action: "refuse", replyAs: "answered" }],
  ["send", { to: "other/heap", action: "work", with: { by: 3 }, replyAs: "answered" }],
];

const child = (to: ActorId, name: string): Step => ["send", { to: name, action: "note", with: { text: "hello" }, start: null }, { to }];

const BIRTHS: readonly Step[] = [
  child(TALLY, "other/one"),
  child(TALLY, "other/two"),
  child("other/one", "tally/grandchild"),
  ["stop", { reason: "enough" }, { to: "other/two" }],
  ["stop", { reason: "over" }],
  ["add"],
];

type CheckedStory = Story & { readonly check?: (world: World, replies: readonly string[]) => unknown };

/** Half past two in Berlin on three days, the second of which changes the clock. */
const acrossClockChange = (from: string, expected: readonly [string, string, string]): CheckedStory => ({
  kinds: [tally()],
  options: { now: Date.parse(from) },
  async play(world) {
    const at = Date.parse(`${expected[0]}Z`);
    const replies = await calls(world, [["wake", { name: "alarm", at, cron: "30 2 * * *", timeZone: "Europe/Berlin" }]]);
    await world.pass(72 * 3_600_000);
    return [...replies, ...(await calls(world, [["cancel", { name: "alarm" }]]))];
  },
  check(world) {
    const log: readonly string[] = Object(world.state(TALLY))["log"];
    const ticks = log.flatMap((line) =>
      line.startsWith("tick ") ? [new Date(Number(line.split(" ")[2])).toISOString().slice(0, 16)] : [],
    );
    assert.deepEqual(ticks, expected);
  },
});

const STORIES: Readonly<Record<string, CheckedStory>> = {
  "C4 keyed calls": {
    kinds: [tally()],
    play: (world) => calls(world, KEYED),
    check(world, replies) {
      assert.deepEqual(replies, ["2", "2", "KEY_REUSED", "refused NO", "7", "17", "17", "CRASHED", "117"]);
      assert.deepEqual(world.state(TALLY), { n: 117, log: [] });
    },
  },
  "C4 keyed calls whose replies have left for the archive": {
    kinds: [tally()],
    async play(world) {
      const many = Array.from({ length: 40 }, (_, n): Step => ["add", { by: 1 }, { key: `key ${n}` }]);
      return [...(await calls(world, many)), ...(await calls(world, many))];
    },
    check(world, replies) {
      assert.deepEqual(replies.slice(40), replies.slice(0, 40));
      assert.deepEqual(world.state(TALLY), { n: 40, log: [] });
      assert.ok(Object.keys(world.storedKeys("archive-tally/main reply/")).length > 20);
    },
  },
  "answers that come later": {
    kinds: [tally(), other()],
    async play(world) {
      const replies = await calls(world, LATER);
      return replies;
    },
    check(world, replies) {
      assert.deepEqual(replies, ["later", "later", "later", "null", "null", "7", "null"]);
      assert.match(JSON.stringify(world.state("other/asker")), /answered string tally\/main {\\"ok\\":7}/);
      assert.equal(world.own(TALLY)?.replies.length, 4, "the first, the keyed one under both its names, the asker's");
    },
  },
  "C5 sends, with answers": {
    kinds: [tally(), other()],
    play: (world) => calls(world, SENDS),
    check(world) {
      assert.deepEqual(world.state("other/heap"), { n: 3, log: ["begun heap", "note 0", "note 1", "note 2", "note 3", "note 4"] });
      assert.match(JSON.stringify(world.state(TALLY)), /answered.*ok.*answered.*refused.*answered.*ok/);
    },
  },
  "C5 sends that fail end as dead letters, and their senders get a reply": {
    kinds: [tally(), other(), tallyKind("unserved")],
    options: { unknown: ["unserved"] },
    async play(world) {
      const replies = await calls(world, [
        ["send", { to: "other/heap", action: "throw", start: null, replyAs: "answered" }],
        ["send", { to: "other/missing", action: "get", replyAs: "answered" }],
        ["send", { to: "other/missing", action: "get" }],
        ["send", { to: "unserved/away", action: "get", replyAs: "answered" }],
      ]);
      await world.pass(60_000);
      return replies;
    },
    check(world) {
      const letters = JSON.stringify(world.storedKeys("troupe-map/letters/"));
      for (const [code, sentence] of [
        ["CRASHED", "other/heap crashed at event"],
        ["NO_ACTOR", "There is no actor other/missing"],
        ["UNKNOWN_KIND", "There is no kind of actor"],
      ] as const) {
        assert.ok(letters.includes(`${code}: ${sentence}`), letters);
        // Operators are informed, too.
        assert.ok(
          world.thrown.some((one) => one.startsWith(sentence)),
          world.thrown.join("\n"),
        );
      }
      const log: readonly string[] = Object(world.state(TALLY))["log"];
      assert.equal(log.filter((line) => line.startsWith("answered")).length, 3);
    },
  },
  "wakes that come, repeat, are cancelled and are put off": {
    kinds: [tally()],
    async play(world) {
      const at = (ms: number): number => 1_704_067_200_000 + ms;
      const replies = await calls(world, [
        ["wake", { name: "once", at: at(500) }],
        ["wake", { name: "often", at: at(100), everyMs: 200 }],
        ["wake", { name: "never", at: at(300) }],
        ["wake", { name: "moved", at: at(300) }],
        ["wake", { name: "past", at: at(-5) }],
        ["cancel", { name: "never" }],
        ["wake", { name: "moved", at: at(800) }],
      ]);
      await world.pass(1_000);
      return [...replies, ...(await calls(world, [["cancel", { name: "often" }]]))];
    },
    check(world) {
      const log: readonly string[] = Object(world.state(TALLY))["log"];
      const ticks = (name: string): readonly number[] =>
        log.flatMap((line) =>
          line.startsWith(`tick "${name}"`) || line.startsWith(`tick ${name} `) ? [Number(line.split(" ")[2]) - 1_704_067_200_000] : [],
        );
      assert.deepEqual([ticks("once"), ticks("often"), ticks("never"), ticks("moved")], [[500], [100, 300, 500, 700, 900], [], [800]]);
      assert.equal(ticks("past").length, 1);
      assert.deepEqual(world.row(TALLY)?.wakes, {});
    },
  },
  "a wake by cron neither loses nor doubles its tick in spring #actors.wakes.cron": acrossClockChange("2026-03-27T12:00:00Z", [
    "2026-03-28T01:30",
    "2026-03-29T01:00",
    "2026-03-30T00:30",
  ]),
  "a wake by cron neither loses nor doubles its tick in autumn #actors.wakes.cron": acrossClockChange("2026-10-23T12:00:00Z", [
    "2026-10-24T00:30",
    "2026-10-25T00:30",
    "2026-10-26T01:30",
  ]),
  "a wake by cron rings by the wall after the clock was set back #actors.wakes.cron": {
    kinds: [tally()],
    options: { now: Date.parse("2026-06-01T11:00:00Z") },
    async play(world) {
      const from = Date.parse("2026-06-01T12:00:00Z");
      const replies = await calls(world, [
        ["wake", { name: "noon", at: from, cron: "0 12 * * *", timeZone: "UTC" }],
        ["wake", { name: "hour", at: from, cron: "0 * * * *", timeZone: "UTC" }],
      ]);
      world.setBack(26 * 3_600_000);
      await world.pass(30 * 3_600_000);
      return replies;
    },
    check(world) {
      const log: readonly string[] = Object(world.state(TALLY))["log"];
      const ticks = (name: string): readonly string[] =>
        log.flatMap((line) => (line.startsWith(`tick ${name} `) ? [new Date(Number(line.split(" ")[2])).toISOString().slice(0, 16)] : []));
      assert.deepEqual(ticks("noon"), ["2026-05-31T12:00", "2026-06-01T12:00"]);
      assert.deepEqual(ticks("hour").slice(0, 3), ["2026-05-31T10:00", "2026-05-31T11:00", "2026-05-31T12:00"]);
      assert.deepEqual([ticks("hour").length, ticks("hour").at(-1)], [30, "2026-06-01T15:00"]);
    },
  },
  "wakes that fail three times are over, and the chain says so": {
    kinds: [tally()],
    async play(world) {
      const replies = await calls(world, [["wake", { name: "bad", at: 1_704_067_200_100, action: "throw" }]]);
      await world.pass(60_000);
      return replies;
    },
    async check(world) {
      const last = (await world.chain(TALLY)).at(-1) ?? assert.fail();
      assert.match(JSON.stringify(readBody(last)?.record), /"dropped":"CRASHED: /);
      assert.deepEqual(world.row(TALLY)?.wakes, {});
      assert.equal(world.timers, 0);
    },
  },
  "births with parents, and their end": {
    kinds: [tally(), other()],
    play: (world) => calls(world, BIRTHS),
    async check(world, replies) {
      assert.deepEqual(replies, ["null", "null", "null", '"stopped"', '"stopped"', "1"]);
      const ended = ["other/one", "other/two", "tally/grandchild"] as const;
      assert.deepEqual(
        ended.map((id) => world.row(id)?.status),
        ["stopped", "stopped", "stopped"],
      );
      const body = readBody((await world.chain("tally/grandchild")).at(-1) ?? assert.fail());
      assert.match(JSON.stringify(body?.message), /its parent other\/one stops/);
      const note = (await world.chain(TALLY)).find((event) => readHeader(event).type === "ended");
      assert.match(JSON.stringify(readBody(note ?? assert.fail())?.message), /"child":"other\/two","reason":"enough"/);
      for (const [name, page] of Object.entries(world.storedKeys("troupe-map/children")))
        assert.ok(!JSON.stringify(page).includes("other/"), `${name} still has ${JSON.stringify(page)}`);
    },
  },
  "a child whose parent has stopped before its birth is not born": {
    kinds: [tally(), other()],
    async play(world) {
      await calls(world, [["add"]]);
      await world.call({ to: TALLY, action: "send", args: { to: "other/delayed", action: "note", start: null } }, { settle: false });
      const ending = await world.stop(TALLY, "over");
      await world.pass(60_000);
      return [ending];
    },
    check(world) {
      assert.equal(world.row("other/delayed"), undefined);
      for (const map of ["kind/other", "children"]) assert.deepEqual(world.storedKeys(`troupe-map/${map}`), {}, "and not counted");
      assert.match(JSON.stringify(world.storedKeys("troupe-map/letters/")), /ACTOR_STOPPED: tally\/main has stopped, so its child/);
    },
  },
  "work that calls others": {
    kinds: [tally(), other()],
    play: (world) =>
      calls(world, [
        ["call", { to: "other/heap", action: "add", with: { by: 4 }, start: null }],
        ["call", { to: "other/heap", action: "add", with: { by: 4 }, start: null }, { key: "one" }],
        ["call", { to: "other/heap", action: "add", with: { by: 4 }, start: null }, { key: "one" }],
        ["call", { to: "other/missing", action: "add" }],
        ["work", { fail: true }],
        ["refuse-work"],
      ]),
    check(world, replies) {
      assert.deepEqual(replies, ["4", "8", "8", "CRASHED", "CRASHED", "refused NO"]);
      assert.deepEqual(Object(world.state("other/heap"))["n"], 8, "each call was applied once, however often its work ran");
    },
  },
  "crashes that are bounded": {
    kinds: [tally({ restart: { max: 1, withinMs: 10_000 } })],
    async play(world) {
      const replies = await calls(world, [["add"], ["throw"], ["add"], ["throw"], ["add"]]);
      await world.ask(world.names.actor(TALLY, "restart"), {});
      return [...replies, ...(await calls(world, [["add"], ["throw"], ["add"]]))];
    },
    check: (world, replies) =>
      assert.deepEqual(replies, ["1", "CRASHED", "2", "CRASHED", "ACTOR_FAILED", "3", "CRASHED", "4"], world.thrown.join()),
  },
  "a child that fails, and goes on by its parent's word": {
    kinds: [tally({ restart: { max: 0, withinMs: 10_000 } })],
    async play(world) {
      const to = "tally/child";
      await calls(world, [["send", { to, action: "add", start: null }]]);
      const next = { to, action: "note", with: { text: "again" } };
      const replies = await calls(world, [
        ["throw", null, { to }],
        ["restart", { child: to }, { to: "tally/stranger" }],
        ["add", null, { to }],
        ["restart", { child: to, next }],
        ["add", null, { to }],
      ]);
      return [
        ...replies,
        ...(await calls(world, [
          ["send", { to, action: "throw" }],
          ["restart", { child: to }],
        ])),
      ];
    },
    check(world, replies) {
      assert.deepEqual(replies, ["CRASHED", "null", "ACTOR_FAILED", "null", "2", "null", "null"]);
      assert.deepEqual(Object(world.state("tally/child"))["log"], ["begun child", "again"]);
      const heard = Object(world.state(TALLY))["log"].filter((line: string) => line.startsWith("failed tally/child: "));
      assert.equal(heard.length, 2);
    },
  },
  "a start that throws": {
    kinds: [tally()],
    play: (world) =>
      calls(world, [
        ["add", null, { start: { explode: true } }],
        ["add", null],
      ]),
    check: (_, replies) => assert.deepEqual(replies, ["CRASHED", "1"]),
  },
  "a wake that fails its actor goes on when that is restarted, and has three attempts again": {
    kinds: [tally({ restart: { max: 1, withinMs: 1_000_000 } })],
    async play(world) {
      const replies = await calls(world, [["wake", { name: "bad", at: 1_704_067_200_100, action: "throw" }]]);
      await world.pass(1_000);
      const crashes = (): Json => world.own(TALLY)?.health?.times.length ?? 0;
      const before = crashes();
      await world.ask(world.names.actor(TALLY, "restart"), {});
      await world.pass(2_000);
      return [...replies, { ok: before }, { ok: crashes() }];
    },
    check(world, replies) {
      assert.deepEqual(replies, ["null", "2", "2"]);
      assert.deepEqual(Object.keys(world.row(TALLY)?.wakes ?? {}), ["bad"]);
    },
  },
  "a wake that fails its actor is dropped after three attempts, though each is followed by a restart": {
    kinds: [tally({ restart: { max: 0, withinMs: 1_000_000 } })],
    async play(world) {
      const wakes = { far: 1_704_070_800_000, bad: 1_704_067_200_100 };
      const replies = await calls(
        world,
        Object.entries(wakes).map(([name, at]) => ["wake", { name, at, action: "throw" }]),
      );
      let restarts = 0;
      for (let n = 0; n < 100; n += 1) {
        await world.pass(20);
        if (world.own(TALLY)?.health?.why === undefined) continue;
        restarts += 1;
        await world.ask(world.names.actor(TALLY, "restart"), {});
      }
      return [...replies, { ok: restarts }];
    },
    check(world, replies) {
      assert.deepEqual(replies, ["null", "null", "3"]);
      assert.deepEqual(Object.keys(world.row(TALLY)?.wakes ?? {}), ["far"]);
      assert.equal(world.timers, 1, "a restart repeats no timer that is on its way");
    },
  },
  "a next life whose start throws": {
    kinds: [tally()],
    async play(world) {
      await calls(world, [["add", null]]);
      await world.stop(TALLY, "enough");
      return calls(world, [
        ["add", null, { start: { explode: true } }],
        ["add", null],
      ]);
    },
    check: (_, replies) => assert.deepEqual(replies, ["CRASHED", "1"]),
  },
  "expiry, postponed by reads and by messages that crash it": {
    kinds: [tally({ expireMs: 1_000 })],
    async play(world) {
      await calls(world, [["add"]]);
      for (const action of ["throw", "get"]) {
        await world.pass(600);
        await calls(world, [[action]]);
      }
      await world.pass(600);
      const still = world.row(TALLY)?.status;
      await world.pass(600);
      return [{ ok: still }];
    },
    check(world, replies) {
      assert.deepEqual(replies, ['"live"']);
      const { status, createdAt = 0, lastMessageAt } = world.row(TALLY) ?? {};
      assert.deepEqual([status, lastMessageAt], ["stopped", createdAt + 1_200]);
      assert.equal(world.timers, 0);
    },
  },
};

describe("law 4: cut at every step and run again, each as if it had never been cut", () => {
  for (const [title, { check, ...story }] of Object.entries(STORIES))
    test(title, async () => {
      const { world, left } = await played(story);
      await check?.(world, shortly(Object(left)["replies"]));
      await cutEverywhere(story);
    });
});

for (const [title, steps, ids] of [
  ["keyed calls", KEYED, [TALLY]],
  ["answers that come later", LATER, [TALLY, "other/asker"]],
  ["sends and their answers", SENDS, [TALLY, "other/heap"]],
  // A stop by the engine has an id of its own; later ids differ.
  ["births and ends", BIRTHS.slice(0, -1), [TALLY, "other/two"]],
] as const)
  void test(`a sequence of ${title} leaves byte-equal chains in the local engine and in durable turns #cluster.chains`, async () => {
    const clock = new SimulatedClock();
    await using store = memoryStore({ clock });
    await using engine = await LocalEngine.start({
      kinds: [tally(), other()],
      store,
      clock,
      entropy: new SimulatedEntropy(),
    });
    for (const [action, args = null, { to = TALLY, key, start = null } = {}] of steps) {
      engine.call({ to, action, args, start }, key === undefined ? {} : { key }).catch(() => undefined);
      await settle();
    }
    const { world } = await played({ kinds: [tally(), other()], play: (fresh) => calls(fresh, steps) });
    for (const id of ids) {
      const chain = await chainOf(engine, id);
      assert.ok(chain.length > 1);
      assert.deepEqual(await world.chain(id), chain);
    }
  });

void test("an attempt whose commands differ from the one before it fails the test, as the server would refuse it", async () => {
  const place = {
    invocation: "inv_1",
    keys: new MapText(),
    call: async () => null,
    send: () => undefined,
    sleep: async () => undefined,
    again: () => undefined,
  };
  const cut = { cuts: [{ step: 1, place: "kept" }] } as const;
  let attempt = 0;
  const once = (run: (context: DurableContext, nth: number) => Promise<unknown>): Promise<unknown> => {
    attempt = 0;
    return new Journal(place, cut).run((context) => run(context, (attempt += 1)));
  };
  const to = { object: "other", key: "one", handler: "see" };
  await once(async (context, nth) => context.send(to, "same", nth));
  const send = async (context: DurableContext, what: unknown): Promise<void> => {
    context.set("some", "text");
    context.send(to, what);
    await context.get("some");
  };
  await once((context) => send(context, "same"));
  await assert.rejects(
    once((context, nth) => send(context, nth)),
    /another attempt is another/,
  );
  await assert.rejects(
    once(async (context, nth) => (nth === 1 ? send(context, 1) : undefined)),
    /ended before step 0/,
  );
});

void test("an actor is entered in the directory before it starts, and its parent is checked after that", async () => {
  const world = new World({ kinds: [tally(), other({ owner: "starter" })] });
  await calls(world, [["send", { to: "other/child", action: "add", start: null }]]);
  const birth = world.invoked.find(({ handler }) => handler === "deliver") ?? assert.fail();
  assert.deepEqual(
    birth.effects.map((effect) => /^(set actor|call \S+?\/[^/ ]+)/.exec(effect)?.[1]),
    ["call troupe-map/kind", "call troupe-map/uid", "call troupe-map/children", "call actor-tally/main", "set actor"],
  );
});

void test("children are stopped together, not one after the other", async () => {
  const world = new World({ kinds: [tally(), other()] });
  const children = ["one", "two", "three"];
  await calls(
    world,
    children.map((name) => ["send", { to: `other/${name}`, action: "add", start: null }]),
  );
  await world.stop(TALLY, "over");
  const end = world.invoked.find(({ handler, effects }) => handler === "stop" && effects.length > 3) ?? assert.fail();
  assert.deepEqual(
    end.effects.flatMap((effect) => /^call actor-other\/\S+?\/([a-z]+)/.exec(effect)?.[1] ?? []),
    [...children.map(() => "working"), ...children.map(() => "stop")],
  );
});

void test("a stopped actor is removed from its parent's children, and added when it starts again", async () => {
  const world = new World({ kinds: [tally(), other()] });
  const under = (): boolean => JSON.stringify(world.storedKeys("troupe-map/children")).includes("other/child");
  for (const end of [
    () => calls(world, [["stop", { reason: "enough" }, { to: "other/child" }]]),
    () => world.stop("other/child", "enough"),
  ]) {
    await calls(world, [["send", { to: "other/child", action: "add", start: null }]]);
    assert.ok(under());
    await end();
    assert.ok(!under());
  }
  await calls(world, [["send", { to: "other/child", action: "stop", with: { reason: "at once" }, start: null }]]);
  assert.equal(world.row("other/child")?.status, "stopped");
  assert.ok(!under());
});

void test("C4 work that is cut and runs again calls under the same keys #cluster.again", async () => {
  const ask = { to: "other/heap", action: "add", with: { by: 4 }, start: null };
  const world = new World({
    kinds: [tally(), other()],
    faults: (_, nth) => ({ cuts: nth > 4 ? [] : (["during", "done", "done"] as const).map((place) => ({ step: 3, place })) }),
  });
  await calls(world, [
    ["call", ask, { key: "one" }],
    ["call", ask],
  ]);
  const again = world.invoked.filter(({ outcome, effects }) => effects.length === 0 && "reply" in Object(outcome));
  assert.ok(again.length >= 2, "it was called again");
  assert.deepEqual(world.state("other/heap"), { n: 8, log: ["begun heap"] });
  assert.equal((await world.chain("other/heap")).length, 2, "each call was applied once");
});

void test("C4 a call that repeats while its reply is on its way to the archive gets that reply", async () => {
  const world = new World({ kinds: [tally()] });
  const add = (n: number) => world.call({ to: TALLY, action: "add", args: null, start: null }, { key: `key ${n}`, settle: false });
  for (let n = 0; n < 16; n += 1) await add(n);
  assert.deepEqual(world.storedKeys("archive-tally/main reply/"), {}, "nothing has arrived");
  assert.equal(world.own(TALLY)?.archived, true);
  assert.deepEqual(replyOf(await add(0)), { ok: 1 });
  assert.deepEqual(world.state(TALLY), { n: 16, log: [] });
});

void test("a waiting caller gets its reply while that is on its way to the archive", async () => {
  const world = new World({ kinds: [tally()] });
  const waiting: string[] = [];
  const call = (action: string) => world.call({ to: TALLY, action, args: { value: 7 }, start: null }, { settle: false });
  for (let n = 0; n < 20; n += 1) {
    const { later } = Object(await call("later"));
    waiting.push(String(later));
  }
  await call("answer");
  for (const id of waiting) {
    const { value } = Object(await world.ask(world.names.actor(TALLY, "reply"), deferredReplyKey(id)));
    assert.deepEqual(Object(Object(value).reply).reply, { ok: 7 });
  }
});

void test("an actor that could not be found does not start", async () => {
  const world = new World({ kinds: [tally(), other()] });
  const to = `tally/${"m".repeat(100)}` as const;
  await world.call({ to: "other/heap", action: "add", args: null, start: null });
  const { object, key = "" } = mapHandler(world.names, actorsOfKind("tally"), to, "");
  const fill = async (size: number, name: (n: number, m: number) => string): Promise<void> => {
    for (let n = 100, isFull = false; !isFull; n += 1) {
      const entries = Array.from({ length: size }, (_, m) => [name(n, m), null]);
      isFull = "fault" in Object(await world.ask({ object, key, handler: "putMany" }, { entries }));
    }
  };
  // Until no further page fits, and then no such name on its page.
  await fill(1_000, (n, m) => `tally/x${"x".repeat(800)}${n} ${m}`);
  for (const [letter, length] of [
    ["a", 800],
    ["b", 200],
    ["c", 40],
  ] as const)
    await fill(1, (n) => `tally/l${letter.repeat(length)}${n}`);
  const uids = world.storedKeys("troupe-map/uid");
  assert.equal(Object(await world.call({ to, action: "add", args: null, start: null })).fault?.code, "STATE_TOO_LARGE");
  assert.equal(world.row(to), undefined);
  assert.deepEqual(world.storedKeys("troupe-map/uid"), uids, "and its uid leads nowhere");
  await world.call({ to: "other/heap", action: "send", args: { to, action: "add", start: null } });
  await world.pass(60_000);
  assert.equal(world.row(to), undefined);
  assert.match(JSON.stringify(world.storedKeys("troupe-map/letters/")), /STATE_TOO_LARGE/);
});

void test("law 4: what a turn decided by the clock stays decided when it runs again later #cluster.again", async () => {
  const cuts = [1, 2].map((step) => ({ step, place: "kept" }) as const);
  const world = new World({ kinds: [tally()], cutMs: 10_000, faults: (_, nth) => (nth === 1 ? { cuts } : {}) });
  await calls(world, [["add"]]);
  const deadline = world.now + 5_000;
  assert.deepEqual(replyOf(await world.call({ to: TALLY, action: "add", args: null, deadline })), { ok: 2 });
  assert.equal(world.invoked[1]?.attempts, 3);
  assert.ok(world.now > deadline);
  const elapsed = await world.call({ to: TALLY, action: "add", args: null, deadline });
  assert.equal("fault" in elapsed && elapsed.fault.code, "DEADLINE");
});

const slow: Behaviour<Json> = {
  kind: "slow",
  version: 1,
  policy: { ...DEFAULT_POLICY, workMs: 5 },
  initial: () => 0,
  receive: () => (context) => new Promise((resolve) => context.signal.addEventListener("abort", () => resolve({ state: 1 }))),
};

const slowly = (world: World, action: string) => world.call({ to: "slow/one", action, args: null, start: null });

void test("work of an actor that starts with it has a past without turns, as in the local engine", async () => {
  const kind: Behaviour<Json> = {
    ...slow,
    receive: () => async (context) => ({ reply: { ok: (await context.past?.turns(4))?.length ?? null } }),
  };
  assert.deepEqual(replyOf(await slowly(new World({ kinds: [kind] }), "work")), { ok: 0 });
});

void test("work past its time is aborted, its result is dropped, and another run of the turn does not run it again", async () => {
  const world = new World({ kinds: [slow], faults: () => ({ cuts: [{ step: 3, place: "kept" }] }) });
  const outcome = await slowly(world, "work");
  assert.equal("fault" in outcome && outcome.fault.code, "WORK_TIMEOUT");
  assert.equal(world.invoked[0]?.attempts, 2);
  assert.deepEqual(world.storedKeys(), {});
});

/** Returns the state that it was given. */
const versioned = (version: number): Behaviour<Json> => ({
  kind: "slow",
  version,
  policy: DEFAULT_POLICY,
  initial: () => ["first"],
  migrate: (state, from) => ({ state, from }),
  receive: (state) => ({ state: { of: state }, reply: { ok: state } }),
});

void test("a state of a lower version is migrated with the next turn, one of a higher version is refused #cluster.migrate", async () => {
  const first = new World({ kinds: [versioned(1)] });
  assert.deepEqual(replyOf(await slowly(first, "v1")), { ok: ["first"] });
  const second = new World({ kinds: [versioned(2)], after: first });
  assert.deepEqual(replyOf(await slowly(second, "v2")), { ok: { state: { of: ["first"] }, from: 1 } });
  const third = new World({ kinds: [versioned(1)], after: second });
  const refused = await slowly(third, "v1");
  assert.equal("fault" in refused && refused.fault.code, "STATE_NEWER");
  const last = (await third.chain("slow/one"))[1];
  assert.ok(last && readBody(last)?.state !== undefined, "the first event of a new version holds the whole state");
});

void test("the cause of a failed migration is reported to operators, and not to the caller", async () => {
  const first = new World({ kinds: [versioned(1)] });
  await slowly(first, "v1");
  const broken = new World({ kinds: [{ ...versioned(2), migrate: () => assert.fail("no such field") }], after: first });
  const failed = await slowly(broken, "v2");
  assert.equal("fault" in failed && failed.fault.code, "ACTOR_FAILED");
  assert.ok(!JSON.stringify(failed).includes("no such field"));
  assert.match(broken.thrown.join(), /could not be brought to this version/);
});

const textless: Behaviour<Json> = {
  kind: "slow",
  version: 1,
  policy: DEFAULT_POLICY,
  initial: () => 0,
  receive(_, { action }) {
    const turn: object = JSON.parse("{}");
    const big = BigInt(1);
    if (action === "reply") Object.assign(turn, { reply: { ok: big } });
    if (action === "record") Object.assign(turn, { state: 1, record: big });
    if (action === "send") Object.assign(turn, { send: [{ to: "slow/two", action: "reply", args: null, start: big }] });
    if (action === "promise") return Object(Promise.resolve());
    if (action === "work") return () => Promise.resolve({ state: 1, ...Object({ record: big }) });
    return turn;
  },
};

void test("a turn that cannot be text is a crash, not an invocation that is retried for ever #cluster.values", async () => {
  for (const action of ["reply", "record", "send", "promise", "work"]) {
    const world = new World({ kinds: [textless] });
    const outcome = await slowly(world, action);
    assert.equal("fault" in outcome && outcome.fault.code, "CRASHED", action);
    assert.deepEqual([world.storedKeys(), world.delivered, world.timers], [{}, [], 0]);
  }
});
