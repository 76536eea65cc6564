import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { StoreError, type Importer } from "../contract/index.ts";
import { actorOf, bytesOf, chunksOf, Collected, linesFrom, resealed, world, type World } from "./dump.fixture.ts";
import { type DumpProgress, exportLine, importLine, noProgress, readDump, sha256 } from "./index.ts";

const LONGEST_LINE = 16 * 1_048_576;

interface Outcome {
  readonly error: unknown;
  readonly importer: Collected;
  readonly progress: DumpProgress;
}

async function read(bytes: Uint8Array, importer = new Collected(), size?: number): Promise<Outcome> {
  const progress = noProgress();
  try {
    await readDump(chunksOf(bytes, size), async () => importer, progress);
    return { error: undefined, importer, progress };
  } catch (error) {
    return { error, importer, progress };
  }
}

const lines = await linesFrom(world);
const whole = bytesOf(lines);
const counts = { actors: 3, events: 24, calls: 2, messages: 2, letters: 1 };

const at = (start: string): number => {
  const index = lines.findIndex((line) => line.startsWith(start));
  assert.ok(index >= 0, start);
  return index;
};
const MANY_WAKES = Array.from({ length: 1_000 }, (_, n) => `"w${n}":{"at":9,"action":"tick"},`).join("");
const without = (index: number): readonly string[] => lines.toSpliced(index, 1);
const changed = (index: number, from: string | RegExp, to: string): readonly string[] => {
  const line = (lines[index] ?? "").replace(from, to);
  assert.notEqual(line, lines[index]);
  return lines.with(index, line);
};

/** Asserts that what was imported is a prefix of the world, with whole actors. */
function isBeginning({ actors, undelivered, letters }: World): void {
  assert.deepEqual(actors, world.actors.slice(0, actors.length));
  assert.deepEqual(undelivered, world.undelivered.slice(0, undelivered.length));
  assert.deepEqual(letters, world.letters.slice(0, letters.length));
}

test("C7 an export imports unchanged, in chunks of any size, states replayed from events", async () => {
  for (const size of [1, 7, 65_536]) {
    const { error, importer, progress } = await read(whole, undefined, size);
    assert.equal(error, undefined);
    assert.deepEqual(importer.world, world);
    assert.deepEqual([progress.read, progress.stored, progress.there.actors], [counts, counts, 0]);
    assert.deepEqual([...importer.states.values()], [{ n: 3 }, { n: 20 }, { n: 1 }]);
  }
});

test("a second import finds everything present; an actor with another chain is refused", async () => {
  const { importer } = await read(whole);
  const again = await read(whole, importer);
  assert.equal(again.error, undefined);
  assert.equal(again.progress.there.actors, 3);
  const other = actorOf("a-b/c", [{}]);
  const differing = new Collected();
  differing.actors = [other];
  const { error, progress } = await read(whole, differing);
  assert.ok(error instanceof StoreError);
  assert.deepEqual([error.code, progress.stored.actors], ["STORE_CONFLICT", 1]);
  assert.deepEqual(differing.actors, [other, world.actors[0]]);
});

test("an export of one kind has its actors and the messages to them", async () => {
  const { error, importer } = await read(bytesOf(await linesFrom(world, "door")));
  assert.equal(error, undefined);
  assert.deepEqual(importer.world, { actors: world.actors.slice(2), undelivered: world.undelivered.slice(0, 1), letters: [] });
});

test("two exports of the same data are equal from line 2, and a shell can compute the sum", async () => {
  assert.deepEqual(resealed(changed(0, '"at":5', '"at":6')).slice(1), lines.slice(1));
  const text = lines
    .slice(1)
    .map((line) => `${line}\n`)
    .join("");
  assert.ok(text.endsWith(`,"sum":"${sha256(text.slice(0, -75))}"}\n`));
});

describe("a changed export is refused with the reason, and no partial actor is stored", () => {
  const cases: readonly (readonly [title: string, lines: readonly string[], says: RegExp, actors?: number])[] = [
    ["an empty file", [], /empty/],
    ["another file", ["hello"], /no export/],
    ["a chain's export", lines.slice(2, 5), /no export/],
    ["the first line's time", changed(0, '"at":5', '"at":6'), /Line 1 has a sum/],
    ["a later version", resealed(changed(0, '"version":1', '"version":2')), /version 2, this Troupe knows 1.*newer/],
    ["a first line twice", lines.toSpliced(1, 0, lines[0] ?? ""), /"troupe" stands out of order/],
    ["a row", changed(1, '"messageCount":3', '"messageCount":2'), /a\/%E2%98%83, after event 3: Line \d+ has a sum/],
    ["a key twice", resealed(changed(1, '"seq":3', '"seq":9,"seq":3')), /Line 2 is not in the one form/],
    [
      "a row of another life",
      resealed(changed(1, '"life":"life-of', '"life":"strife-of')),
      /a\/%E2%98%83, event 3: Its row is of the life strife-of/,
    ],
    ["a row of another version", resealed(changed(1, '"version":1', '"version":2')), /state version 2.*of version 1/],
    ["a row with another uid", resealed(changed(1, '"uid":"l', '"uid":"k')), /event 3: Its uid is kife/],
    [
      "a row with another beginning",
      resealed(changed(1, '"createdAt":1000', '"createdAt":1001')),
      /should begin at 1001, and began at 1000/,
    ],
    ["an unknown status", resealed(changed(1, '"live"', '"lively"')), /Line 2 is not in the one form/],
    ["a time no calendar has", resealed(changed(1, /"lastMessageAt":\d+/u, '"lastMessageAt":100000000000000000')), /Line 2 is not/],
    ["a count that has no next", resealed(changed(1, '"messageCount":3', '"messageCount":9007199254740991')), /Line 2 is not/],
    [
      "a wake without a time between",
      resealed(changed(at('{"actor":"door'), '"at":9,', '"at":9,"everyMs":0,')),
      /is not in the one form/,
      2,
    ],
    [
      "a reply that a timer would send",
      resealed(changed(at('{"actor":"door'), '"action":"tick"', '"action":"troupe/reply"')),
      /is not in the one form/,
      2,
    ],
    [
      "a schedule that is none",
      resealed(changed(at('{"actor":"door'), '"at":9,', '"at":9,"cron":"garbage",')),
      /is not in the one form/,
      2,
    ],
    ["too many wakes", resealed(changed(at('{"actor":"door'), '"wakes":{', `"wakes":{${MANY_WAKES}`)), /is not in the one form/, 2],
    ["a letter of no time", resealed(changed(at('{"letter"'), '"at":7', '"at":100000000000000000')), /is not in the one form/, 3],
    ["nesting without end", resealed(changed(1, '"pending":{}', `"pending":{"a":${"[".repeat(300)}${"]".repeat(300)}}`)), /Line 2 is not/],
    ["a later head", resealed(changed(1, /"head":"./u, '"head":"f')), /end is of/],
    ["an event's body", changed(3, '{"n":[2]}', '{"n":[7]}'), /a\/%E2%98%83, event 2: The body of event 2 was changed.*BODY_CHANGED/],
    ["an event's header", changed(3, '"at":1001', '"at":1002'), /event 2: The header of event 2 was changed.*CHANGED/],
    ["an event's form", changed(3, '"header":{', '"heeder":{'), /after event 1: Line 4 is no event/],
    ["an event that is missing", resealed(without(3)), /event 2: Event 2 was expected, event 3 came.*ORDER/],
    ["the last event missing", resealed(without(4)), /event 2: a\/%E2%98%83 should end at event 3/],
    ["an event of another actor", resealed(lines.with(3, lines[at('{"actor":"a-b/c"') + 2] ?? "")), /is of a-b\/c, not of a\/.*FOREIGN/],
    ["a body that is missing", resealed(changed(2, /,"body":\{.*\}\}$/u, "}")), /event 1: The body of event 1 is missing.*ERASED/],
    ["a reply", changed(5, '"until":9', '"until":8'), /after event 3: Line \d+ has a sum/],
    ["a reply twice", resealed(lines.toSpliced(5, 0, lines[5] ?? "")), /comes twice/],
    ["a reply that is none", resealed(changed(5, '"ok"', '"okay"')), /Line 6 is not in the one form/],
    ["an event after a reply", resealed(lines.toSpliced(6, 0, lines[4] ?? "")), /An event comes after a reply/],
    ["an end that is missing", resealed(without(at('{"end":"a/'))), /where the end of this actor is missing/],
    ["an end of another", resealed(changed(at('{"end":"a/'), '"seq":3', '"seq":4')), /The line of its end is of/],
    ["an end without an actor", resealed(lines.toSpliced(1, 0, lines[at('{"end":"a/')] ?? "")), /An end stands of no actor/],
    ["an event without an actor", resealed(lines.toSpliced(1, 0, lines[2] ?? "")), /An event stands of no actor/],
    ["an actor twice", resealed([...lines.slice(0, 8), ...lines.slice(1)]), /stands after a\/%E2%98%83/, 1],
    ["an actor missing", resealed(lines.toSpliced(1, 7)), /other counts/, 2],
    ["an actor's id", resealed(changed(1, '"a/%E2%98%83"', '"a/%e2%98%83"')), /Line 2 is not in the one form/],
    ["a message", changed(at('{"message"'), '"failures":2', '"failures":1'), /Line \d+ has a sum/, 3],
    ["a message that is none", resealed(changed(at('{"message"'), '"args"', '"arks"')), /Line \d+ is not in the one form/, 3],
    ["a message too early", resealed(lines.toSpliced(1, 0, lines[at('{"message"')] ?? "")), /"actor" stands out of order/],
    ["a letter", changed(at('{"letter"'), "NO_ACTOR", "NO_FACTOR"), /Line \d+ has a sum/, 3],
    [
      "a letter too early",
      resealed(lines.toSpliced(at('{"message"'), 0, lines[at('{"letter"')] ?? "")),
      /"message" stands out of order/,
      3,
    ],
    ["the counts", resealed(changed(at('{"total"'), '"events":24', '"events":25')), /The last line stands with other counts/, 3],
    ["no last line", lines.slice(0, -1), /cut off after line/, 3],
    ["a line after the last", [...lines, lines[1] ?? ""], /after the last line/, 3],
    ["an unknown kind of line", resealed(lines.toSpliced(1, 0, '{"blob":1}')), /Line 2 is of a kind this version does not know.*newer/],
    ["bytes that are no text", lines, /Line 2 is no text/],
  ];
  for (const [title, to, says, actors = 0] of cases)
    test(title, async () => {
      const bytes = Buffer.from(bytesOf(to));
      if (to === lines) bytes[bytes.indexOf("\n") + 20] = 0xff;
      const { error, importer, progress } = await read(bytes);
      assert.ok(error instanceof StoreError, `it was taken: ${title}`);
      assert.match(error.message, says);
      assert.equal(importer.actors.length, actors);
      assert.equal(progress.stored.actors, actors);
      for (const imported of importer.actors)
        assert.deepEqual(
          imported,
          world.actors.find(({ actor }) => actor.id === imported.actor.id),
        );
    });

  test("a compressed file", async () => {
    const { error } = await read(gzipSync(whole));
    assert.ok(error instanceof StoreError);
    assert.match(error.message, /This is no export.*unpacked/);
  });

  test("a line without a newline", async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield bytesOf(lines.slice(0, 1));
      for (let chunk = 0; chunk < 300; chunk += 1) yield Buffer.alloc(65_536, "x");
      assert.fail("it read on");
    }
    await assert.rejects(
      readDump(endless(), async () => new Collected()),
      (error) => error instanceof StoreError && error.message.includes(`longer than ${LONGEST_LINE} bytes`),
    );
  });
});

test("an importer that fails at any step keeps what was flushed, not the current actor", async () => {
  const failing = (importer: Collected, steps: number): Importer => {
    let left = steps;
    const step = <T>(run: () => Promise<T>): Promise<T> =>
      (left -= 1) === -1 ? Promise.reject(new StoreError("STORE_FULL", "The disk is full, as the test wanted.")) : run();
    return {
      actor: (actor) =>
        step(async () => {
          const arrival = await importer.actor(actor);
          return (
            arrival && {
              ...arrival,
              event: (event, full) => step(() => arrival.event(event, full)),
              call: (call) => step(() => arrival.call(call)),
              commit: (state) => step(() => arrival.commit(state)),
            }
          );
        }),
      message: (undelivered) => step(() => importer.message(undelivered)),
      letter: (letter) => step(() => importer.letter(letter)),
      flush: () => step(() => importer.flush()),
      [Symbol.asyncDispose]: () => importer[Symbol.asyncDispose](),
    };
  };
  const all = 3 + 24 + 2 + 3 + 2 + 1 + 1;
  for (let steps = 0; steps <= all; steps += 1) {
    const importer = new Collected();
    const progress = noProgress();
    const run = readDump(chunksOf(whole), async () => failing(importer, steps), progress);
    if (steps === all) await run;
    else await assert.rejects(run, { code: "STORE_FULL" });
    isBeginning(importer.world);
    assert.equal(importer.open, 0);
    assert.equal(progress.stored.actors, importer.actors.length, `failed at step ${steps}`);
  }
});

test("an event whose action looks like the end of a header is exported and imported", async () => {
  const first = actorOf("door/a", [{}]);
  const [plain] = first.events;
  assert.ok(plain?.body !== undefined);
  const header = plain.header.replace('"type":"poke"', String.raw`"type":"\\\"}\"},\"body\":{\\"`);
  const odd = { id: sha256(header), header, body: plain.body };
  for (const event of [odd, { id: odd.id, header }]) assert.deepEqual(importLine(exportLine(event)), event);
  const only = { actors: [{ ...first, actor: { ...first.actor, head: odd.id }, events: [odd] }], undelivered: [], letters: [] };
  const { error, importer } = await read(bytesOf(await linesFrom(only)));
  assert.equal(error, undefined);
  assert.deepEqual(importer.world, only);
});

test("an export refuses a broken chain, unordered actors and a line that is too long", async () => {
  const [first, second, third] = world.actors;
  assert.ok(first && second && third);
  const broken = { ...first, events: first.events.map((event) => ({ ...event, body: event.body?.replace("[2]", "[7]") ?? "" })) };
  await assert.rejects(linesFrom({ ...world, actors: [broken] }), /a\/%E2%98%83, event 2: The body of event 2 was changed/);
  await assert.rejects(linesFrom({ ...world, actors: [second, first] }), { code: "STORE_CORRUPT" });
  await assert.rejects(linesFrom({ ...world, actors: [{ ...first, actor: { ...first.actor, seq: 4 } }] }), /should end at event 4/);
  await assert.rejects(
    linesFrom({ ...world, actors: [actorOf("door/dated", [{}, { at: 1e17 }, {}])] }),
    /door\/dated, event 2: No calendar has its time/,
  );
  const large = actorOf("door/large", [{ state: "x".repeat(LONGEST_LINE) }]);
  await assert.rejects(linesFrom({ ...world, actors: [large] }), { code: "STORE_FULL" });
});

test("C7 an import with any byte changed, removed or added is refused, its start stored", async () => {
  const places = fc.nat({ max: whole.length - 1 });
  await fc.assert(
    fc.asyncProperty(places, fc.integer({ min: 1, max: 255 }), async (place, mask) => {
      const bytes = Buffer.from(whole);
      bytes[place] = (bytes[place] ?? 0) ^ mask;
      const { error, importer } = await read(bytes);
      assert.ok(error instanceof StoreError);
      isBeginning(importer.world);
    }),
    { numRuns: 600 },
  );
  await fc.assert(
    fc.asyncProperty(places, fc.nat({ max: 40 }), fc.uint8Array({ maxLength: 8 }), async (place, removed, put) => {
      const bytes = Buffer.concat([whole.subarray(0, place), put, whole.subarray(place + removed)]);
      fc.pre(!bytes.equals(whole));
      const { error, importer } = await read(bytes);
      assert.ok(error instanceof StoreError);
      isBeginning(importer.world);
    }),
    { numRuns: 400 },
  );
});
