import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { SimulatedClock } from "../../../testing/index.ts";
import { type Codec, encodeFrame, WIRE_LIMITS, type WireLimits, WireReader, WireWriter } from "./codec.ts";
import { type Printable, WireError, type WireValue } from "./wire-json.ts";

const clock = new SimulatedClock();
const CODECS: readonly Codec[] = ["raw", "fragmenting"];
const text = (frames: readonly Uint8Array[]): string => Buffer.concat(frames).toString("latin1");
const json = (value: unknown): Uint8Array => encodeFrame(Buffer.from(JSON.stringify(value)));

function read(frames: Uint8Array | readonly Uint8Array[], limits: Partial<WireLimits> = {}, codec?: Codec) {
  const reader = new WireReader({ ...WIRE_LIMITS, ...limits }, clock, codec);
  const messages: (WireValue | WireError)[] = [];
  for (const frame of frames instanceof Uint8Array ? [frames] : frames) reader.push(frame, (message) => messages.push(message));
  return { reader, messages };
}

const wrong = (message: WireValue | WireError | undefined, words: RegExp): void => {
  assert.ok(message instanceof WireError);
  assert.match(message.message, words);
};

void test("both codecs frame ListActors byte by byte", () => {
  const writer = new WireWriter(WIRE_LIMITS);
  assert.equal(text(writer.frames("ListActors", "raw")), '\x00\x00\x00\x0c"ListActors"');
  assert.equal(
    text(writer.frames("ListActors", "fragmenting")),
    '\x00\x00\x00\x39{"Complete":[34,76,105,115,116,65,99,116,111,114,115,34]}',
  );
});

void test("1 KiB of one letter takes as many bytes as in Theater's own codecs", () => {
  const message = { SendActorMessage: { id: "0c7e6f1a-0000-4000-8000-000000000001", data: Buffer.alloc(1_024, 0x78) } };
  const lengths = CODECS.map((codec) => new WireWriter(WIRE_LIMITS).frames(message, codec)[0]?.length);
  assert.deepEqual(lengths, [4 + 4_171, 12_552]);
});

void test("the first frame determines the codec of the connection", () => {
  for (const codec of CODECS) {
    const { reader, messages } = read(new WireWriter(WIRE_LIMITS).frames("ListActors", codec));
    assert.equal(reader.codec, codec);
    assert.deepEqual(messages, ["ListActors"]);
  }
  const { reader, messages } = read([encodeFrame(Buffer.from("nonsense")), json("ListActors"), json({ Complete: [34, 34] })]);
  assert.equal(reader.codec, "raw");
  wrong(messages[0], /not JSON/);
  assert.deepEqual(messages.slice(1), ["ListActors", new Map([["Complete", Uint8Array.of(34, 34)]])]);
  const mixed = read([json({ Complete: [34, 34] }), json("ListActors")]).messages;
  assert.equal(mixed[0], "");
  wrong(mixed[1], /as its first was/);
});

void test("the messages do not depend on how the stream is cut", () => {
  const message: fc.Arbitrary<Printable> = fc.record(
    { name: fc.string(), data: fc.uint8Array({ maxLength: 300 }) },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 5 }),
      fc.constantFrom(...CODECS),
      fc.infiniteStream(fc.integer({ min: 1, max: 200 })),
      (sent, codec, cuts) => {
        const writer = new WireWriter({ frameBytes: 400, messageBytes: 10_000 });
        const stream = Buffer.concat(
          sent.flatMap((one) => (codec === "raw" ? writer.frames({ ...Object(one), data: null }, codec) : writer.frames(one, codec))),
        );
        const pieces: Uint8Array[] = [];
        for (let at = 0; at < stream.length;) {
          const size: number = cuts.next().value ?? 1;
          pieces.push(stream.subarray(at, at + size));
          at += size;
        }
        const { messages, reader } = read(pieces, { frameBytes: 4_000 }, codec);
        assert.equal(reader.pending, false);
        const got = messages.map((one) => (one instanceof Map ? Object.fromEntries(one) : one));
        assert.deepEqual(got, codec === "raw" ? sent.map((one) => ({ ...Object(one), data: null })) : sent);
      },
    ),
  );
});

void test("interleaved fragments are assembled in any order", () => {
  const bodies = ["a", "b", "c"].map((letter) => letter.repeat(700));
  const writer = new WireWriter({ frameBytes: 400, messageBytes: 10_000 });
  const frames = bodies.flatMap((body) => writer.frames(body, "fragmenting"));
  assert.equal(frames.length, 12);
  fc.assert(
    fc.property(fc.shuffledSubarray(frames, { minLength: frames.length }), (shuffled) => {
      const { messages } = read(shuffled);
      assert.deepEqual(new Set(messages), new Set(bodies));
    }),
  );
});

void test("messages above 12 MiB, or whose numbers fill a frame, are fragmented", () => {
  const writer = new WireWriter(WIRE_LIMITS);
  const long = writer.frames("x".repeat(13 * 1_048_576), "fragmenting");
  assert.equal(long.length, 2);
  assert.match(text(long).slice(4, 80), /^\{"Fragment":\{"message_id":1,"fragment_index":0,"total_fragments":2,"data":"/);
  const filling = writer.frames("x".repeat(9 * 1_048_576), "fragmenting");
  assert.match(text(filling).slice(4, 40), /^\{"Fragment":\{"message_id":2,/);
  assert.deepEqual(read(filling).messages, ["x".repeat(9 * 1_048_576)]);
});

void test("a message too long for a frame fails if it cannot be fragmented", () => {
  const writer = new WireWriter({ frameBytes: 100, messageBytes: 1_000 });
  assert.throws(() => writer.frames("x".repeat(200), "raw"), /longer than the 100 bytes/);
  assert.throws(() => writer.frames("x".repeat(2_000), "fragmenting"), /longer than the 1000 bytes/);
});

void test("a frame longer than the limit is refused before any of it is buffered", () => {
  const reader = new WireReader({ ...WIRE_LIMITS, frameBytes: 100 }, clock);
  assert.throws(
    () => reader.push(Uint8Array.of(0, 0, 0, 101), () => assert.fail()),
    (error) => error instanceof WireError && /at most 100 bytes/.test(error.message),
  );
});

void test("inconsistent fragments are refused, and their message is dropped", () => {
  const part = (message_id: unknown, fragment_index: unknown, total_fragments: unknown, data: unknown = "eA=="): Uint8Array =>
    json({ Fragment: { message_id, fragment_index, total_fragments, data } });
  wrong(read(part(-1, 0, 1)).messages[0], /message_id/);
  wrong(read(part(1, 1, 1)).messages[0], /fragment_index/);
  wrong(read(part(1, 0, 4_000_000_000)).messages[0], /total_fragments/);
  wrong(read(part(1, 0, 0)).messages[0], /total_fragments must be a whole number of 1 to/);
  wrong(read(part(1, 0, 2, "=")).messages[0], /data/);
  wrong(read([part(1, 0, 2), part(1, 1, 3)]).messages[0], /was 2 .* is 3/);
  wrong(read([part(1, 0, 2), part(2, 0, 2), part(3, 0, 2)], { partials: 2 }).messages[0], /At most 2 messages/);
  wrong(read([part(1, 0, 2, "eHh4"), part(2, 0, 2, "eHh4")], { messageBytes: 5 }).messages[0], /at most 5 bytes/);
  assert.deepEqual(read([part(1, 0, 2, "Ig=="), part(1, 0, 2, "Ig=="), part(1, 1, 2, "Ig==")]).messages, [""]);
  wrong(read(json({ Complete: [1, 256] })).messages[0], /Complete must hold bytes/);
  wrong(read(json({ Fragment: 1 })).messages[0], /Fragment must hold an object/);
});

void test("an incomplete message is dropped after its time limit", async () => {
  const simulated = new SimulatedClock();
  const reader = new WireReader({ ...WIRE_LIMITS, partials: 1 }, simulated);
  const got: (WireValue | WireError)[] = [];
  const part = (message_id: number, fragment_index: number): void =>
    reader.push(json({ Fragment: { message_id, fragment_index, total_fragments: 2, data: "Ig==" } }), (message) => got.push(message));
  part(1, 0);
  await simulated.advance(30_000);
  part(2, 0);
  part(2, 1);
  assert.deepEqual(got, [""]);
  part(3, 0);
  reader.close();
  part(4, 0);
  part(4, 1);
  assert.deepEqual(got, ["", ""]);
});
