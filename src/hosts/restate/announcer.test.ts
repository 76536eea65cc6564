import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActorId, Change, Json, PeerListener, Peers, Status } from "../../core/contract/index.ts";
import { settle, SimulatedClock } from "../../testing/index.ts";
import { Announcer } from "./announcer.ts";
import type { ActorHead } from "./outcome.ts";

const A = "tally/a";
const B = "tally/b";
const MAX_NOTIFIED = 10_000;

/** Actors as they are on the server, and other nodes. */
function stage() {
  const clock = new SimulatedClock();
  const actors = new Map<ActorId, ActorHead>();
  const reads: ActorId[] = [];
  const faults: unknown[] = [];
  const heard: string[] = [];
  const notified: Json[] = [];
  const awaited = new Set<string>();
  const listeners = new Map<string, PeerListener>();
  const gaps: (() => void)[] = [];
  let broken = false;
  const announcer = new Announcer({
    clock,
    async head(id) {
      reads.push(id);
      if (broken) throw new Error("The server is away.");
      return actors.get(id);
    },
    ids: async (kind) => [...actors.keys()].filter((id) => id.startsWith(`${kind}/`)),
    awaits: (messageId) => awaited.has(messageId),
    fault: (error) => void faults.push(error),
  });
  const peers: Peers = {
    self: "this",
    tell: (_, message) => void notified.push(message),
    ask: async () => undefined,
    on(topic, listen) {
      listeners.set(topic, listen);
      return () => void listeners.delete(topic);
    },
    onGap(run) {
      gaps.push(run);
      return () => void gaps.splice(gaps.indexOf(run), 1);
    },
    async [Symbol.asyncDispose]() {},
  };
  const line = ({ id, seq, status, emit }: Change): string =>
    `${id} ${seq} ${status}${emit === undefined ? "" : ` ${JSON.stringify(emit)}`}`;
  return {
    clock,
    announcer,
    peers,
    actors,
    reads,
    faults,
    heard,
    notified,
    awaited,
    listeners,
    gaps,
    breaks: (how: boolean) => void (broken = how),
    watch: (topic: string) => announcer.watch(topic, (change) => void heard.push(line(change))),
    is: (id: ActorId, seq: number, status: Status = "live") => void actors.set(id, { seq, head: `head ${seq}`, status }),
    change: (id: ActorId, seq: number, more: Partial<Change> = {}): Change => ({ id, seq, head: `head ${seq}`, status: "live", ...more }),
    from: (message: Json) => listeners.get("changed")?.(message, "another"),
  };
}

void test("a durable change notifies watchers of the actor, its kind or all, each time, until the watch is undone", () => {
  const { announcer, watch, heard, change } = stage();
  const undos = [A, A, "tally/*", "*/*", B].map((topic) => watch(topic));
  void announcer.announce(change(A, 1));
  assert.deepEqual(
    heard.splice(0),
    Array.from({ length: 4 }, () => `${A} 1 live`),
  );
  void announcer.announce(change(A, 1));
  assert.deepEqual(heard, [], "notified before");
  void announcer.announce(change(A, 1, { status: "failed" }));
  assert.equal(heard.splice(0).length, 4);
  undos[0]?.();
  undos[0]?.();
  void announcer.announce(change(A, 3));
  assert.equal(heard.splice(0).length, 3);
  void announcer.announce(change(A, 2));
  assert.deepEqual(heard, [], "older changes are ignored");
  for (const undo of undos) undo();
  void announcer.announce(change(A, 4));
  assert.deepEqual(heard, []);
});

void test("C2 a hint before its turn is durable notifies once it is, and not before #cluster.hints", async () => {
  const { announcer, watch, heard, change, is, reads, clock } = stage();
  watch(A);
  is(A, 1);
  announcer.hint(change(A, 2), "message 2");
  await settle();
  assert.deepEqual(heard, []);
  await clock.advance(50);
  assert.deepEqual(heard, []);
  assert.ok(reads.length > 2, "it is read again");
  is(A, 2);
  await clock.advance(1_000);
  assert.deepEqual(heard, [`${A} 2 live`]);
  const { length } = reads;
  await clock.advance(10_000);
  assert.equal(reads.length, length, "and not read any more");
});

void test("several hints of one actor share one read, and a later one is not lost", async () => {
  const { announcer, watch, heard, change, is, reads, clock } = stage();
  watch(A);
  for (const seq of [1, 2, 3]) announcer.hint(change(A, seq), `message ${seq}`);
  await settle();
  assert.equal(reads.length, 1);
  is(A, 2);
  await clock.advance(100);
  assert.deepEqual(heard, []);
  is(A, 4);
  await clock.advance(1_000);
  assert.deepEqual(heard, [`${A} 4 live`]);
});

void test("a hint that arrives during a notification causes another read", async () => {
  const { announcer, heard, change, is, clock } = stage();
  is(A, 1);
  announcer.watch(A, ({ seq }) => {
    heard.push(`${A} ${seq}`);
    if (seq < 5) {
      is(A, seq + 1);
      announcer.hint(change(A, seq + 1), `message ${seq + 1}`);
    }
  });
  announcer.hint(change(A, 1), "message 1");
  await clock.advance(1_000);
  assert.deepEqual(
    heard,
    [1, 2, 3, 4, 5].map((seq) => `${A} ${seq}`),
  );
});

void test("unwatched actors are not read, nor those whose caller here is about to be notified", async () => {
  const { announcer, watch, heard, change, reads, awaited, is } = stage();
  is(A, 1);
  is(B, 1);
  watch(A);
  awaited.add("mine");
  announcer.hint(change(A, 1), "mine");
  announcer.hint(change(B, 1), "other");
  await settle();
  assert.deepEqual([reads, heard], [[], []]);
  void announcer.announce(change(A, 1));
  assert.deepEqual(heard, [`${A} 1 live`]);
});

void test("a turn that never becomes durable is dropped, and later changes are reported", async () => {
  const { announcer, watch, heard, change, reads, clock, is } = stage();
  watch(A);
  is(A, 1);
  announcer.hint(change(A, 2, { emit: ["never"] }), "message 2");
  await clock.advance(40_000);
  const { length } = reads;
  await clock.advance(100_000);
  assert.equal(reads.length, length);
  assert.deepEqual(heard, []);
  is(A, 2);
  announcer.hint(change(A, 2), "message 2 again");
  await clock.advance(10);
  assert.deepEqual(heard, [`${A} 2 live`]);
});

void test("a server that is away is a fault, and causes no notification afterwards", async () => {
  const { announcer, watch, heard, change, faults, clock, is, breaks } = stage();
  watch(A);
  breaks(true);
  announcer.hint(change(A, 5, { emit: ["lost"] }), "message 5");
  await settle();
  assert.equal(faults.length, 1);
  breaks(false);
  is(A, 2);
  announcer.hint(change(A, 2), "message 2");
  await clock.advance(1_000);
  assert.deepEqual(heard, [`${A} 2 live`]);
});

void test("other nodes get hints of a turn; their hints cause reads, and invalid ones are ignored", async () => {
  const { announcer, peers, watch, heard, notified, change, from, is } = stage();
  announcer.join(peers);
  watch("tally/*");
  announcer.hint(change(A, 1, { emit: ["line"] }), "message 1");
  assert.deepEqual(notified, [{ id: A, seq: 1, head: "head 1", status: "live", of: "message 1", emit: ["line"] }]);
  is(A, 1);
  is(B, 7);
  await settle();
  for (const bad of [
    null,
    1,
    [],
    {},
    { id: "no-id", seq: 1, head: "", status: "live", of: "x" },
    { id: B, seq: "1" },
    { id: B, seq: 1, head: "", status: "odd", of: "" },
  ])
    from(bad);
  await settle();
  assert.ok(!heard.some((line) => line.startsWith(B)));
  from({ id: B, seq: 3, head: "made up", status: "live", of: "their message", emit: ["theirs"] });
  await settle();
  assert.ok(heard.includes(`${B} 7 live ["theirs"]`), "as the actor says, not as the other node does");
  announcer.close();
});

void test("a lost hint is recovered after a gap, and after a while without one #cluster.hints", async () => {
  const { announcer, peers, watch, heard, is, gaps, clock, change } = stage();
  announcer.join(peers);
  watch(A);
  watch("other/*");
  is(A, 1);
  is("other/one", 1);
  for (const gap of gaps) gap();
  await settle();
  assert.deepEqual(heard.splice(0).toSorted(), ["other/one 1 live", `${A} 1 live`]);
  for (const gap of gaps) gap();
  await settle();
  assert.deepEqual(heard, [], "nothing has changed");
  is(A, 4);
  is(B, 4);
  await clock.advance(15_000);
  assert.deepEqual(heard.splice(0), [`${A} 4 live`]);
  // For all kinds: those that were reported.
  watch("*/*");
  is(A, 5);
  void announcer.announce(change(B, 4));
  is(B, 5);
  heard.splice(0);
  await clock.advance(15_000);
  assert.deepEqual(new Set(heard), new Set([`${A} 5 live`, `${B} 5 live`]));
  announcer.close();
  assert.equal(clock.pending, 0, "nothing is left to ring");
  assert.equal(gaps.length, 0);
});

void test("a gap that is found during a resync causes another resync", async () => {
  const { announcer, peers, watch, heard, is, gaps, reads } = stage();
  announcer.join(peers);
  watch(A);
  is(A, 1);
  for (const gap of gaps) gap();
  assert.deepEqual(reads, [A]);
  is(A, 2);
  for (const gap of [...gaps, ...gaps]) gap();
  assert.deepEqual(reads, [A], "not at the same time");
  await settle();
  assert.deepEqual(heard, [`${A} 1 live`, `${A} 2 live`]);
  assert.deepEqual(reads, [A, A], "once for all gaps in between");
  announcer.close();
});

void test("C2 a lost hint of a turn that is durable only after the gap was found is recovered within seconds", async () => {
  const { announcer, peers, watch, heard, is, gaps, clock, reads } = stage();
  announcer.join(peers);
  watch(A);
  is(A, 1);
  for (const gap of gaps) gap();
  await settle();
  assert.deepEqual(heard.splice(0), [`${A} 1 live`]);
  for (const seq of [2, 3]) {
    is(A, seq);
    await clock.advance(4_000);
    assert.deepEqual(heard.splice(0), [`${A} ${seq} live`]);
  }
  const { length } = reads;
  await clock.advance(4_000);
  assert.equal(reads.length, length, "then it is over");
  for (const gap of gaps) gap();
  await settle();
  announcer.close();
  assert.equal(clock.pending, 0, "nothing is left to ring");
});

void test("law 2: a stopped actor is reported after its children, which are still read", async () => {
  const { announcer, watch, heard, change, is, clock } = stage();
  watch("tally/*");
  is(B, 1);
  announcer.hint(change(B, 2, { status: "stopped" }), "its parent stops");
  const telling = announcer.announce(change(A, 9, { status: "stopped" }));
  assert.ok(telling instanceof Promise);
  await clock.advance(20);
  assert.deepEqual(heard, []);
  is(B, 2, "stopped");
  await clock.advance(1_000);
  await telling;
  assert.deepEqual(heard, [`${B} 2 stopped`, `${A} 9 stopped`]);
});

void test("emitted lines are reported once, without an event too, and only the newest while the server is slow", async () => {
  const { announcer, watch, heard, change, is, clock } = stage();
  watch(A);
  is(A, 1);
  void announcer.announce(change(A, 1, { emit: ["one"] }));
  void announcer.announce(change(A, 1, { emit: ["two"] }));
  assert.deepEqual(heard.splice(0), [`${A} 1 live ["one"]`, `${A} 1 live ["two"]`]);
  announcer.hint(change(A, 2, { emit: ["three"] }), "message 2");
  announcer.hint(change(A, 3, { emit: ["four"] }), "message 3");
  is(A, 3);
  await clock.advance(1_000);
  assert.deepEqual(heard.splice(0), [`${A} 3 live ["three","four"]`]);
  announcer.hint(change(A, 4), "message 4");
  is(A, 4);
  await clock.advance(1_000);
  assert.deepEqual(heard.splice(0), [`${A} 4 live`]);
  const seen: number[] = [];
  announcer.watch(A, ({ emit = [] }) => void seen.push(emit.length));
  for (let n = 0; n < 5_000; n += 1) announcer.hint(change(A, 5, { emit: [n] }), `message ${n}`);
  is(A, 5);
  await clock.advance(1_000);
  assert.deepEqual(seen, [1_000]);
  assert.match(heard[0] ?? "", /,4999]$/);
});

void test("C8 reported heads are remembered for a bounded number of actors; the oldest may be reported once too often", () => {
  const { announcer, watch, heard, change } = stage();
  watch("*/*");
  const id = (n: number): ActorId => `tally/${n}`;
  for (let n = 0; n <= MAX_NOTIFIED; n += 1) void announcer.announce(change(id(n), 1));
  assert.equal(heard.splice(0).length, MAX_NOTIFIED + 1);
  for (const n of [1, 2, MAX_NOTIFIED]) void announcer.announce(change(id(n), 1));
  assert.deepEqual(heard, []);
  void announcer.announce(change(id(0), 1));
  assert.deepEqual(heard, ["tally/0 1 live"]);
});

void test("a watcher that throws does not affect others, and a closed announcer reads no more", async () => {
  const { announcer, watch, heard, change, faults, clock, reads } = stage();
  announcer.watch(A, () => {
    throw new Error("A watcher's bug.");
  });
  watch(A);
  void announcer.announce(change(A, 1));
  assert.equal(faults.length, 1);
  assert.deepEqual(heard, [`${A} 1 live`]);
  announcer.hint(change(A, 2), "message 2");
  await settle();
  announcer.close();
  await clock.advance(1_000);
  const { length } = reads;
  announcer.hint(change(A, 3), "message 3");
  await clock.advance(60_000);
  assert.equal(reads.length, length);
});
