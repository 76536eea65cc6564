import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { PAGE_BYTES } from "./map-pages.ts";
import { MapText } from "./map-text.fixture.ts";
import { append, directoryOf, sentAfter, type RestateStreamBounds, type SentMessage } from "./stream-object.ts";

const bounds: RestateStreamBounds = { messages: 16, bytes: 4_000, streams: 3 };

const sending = fc.record({
  stream: fc.constantFrom("a", "b", "c", "d", "__proto__"),
  text: fc.option(
    fc.integer({ min: 0, max: 900 }).map((n) => "x".repeat(n)),
    { nil: undefined, freq: 20 },
  ),
});

test("a read after a message returns all later ones of its stream, or reports that they were removed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(sending, { maxLength: 100, size: "max" }), async (sends) => {
      const state = new MapText();
      const all = new Map<string, SentMessage[]>();
      let numbered = 0;
      for (const { stream, text } of sends) {
        const { n, begun } = await append(state, bounds, { stream, text, at: 1_000 });
        assert.equal(begun, numbered === 0);
        assert.equal(n, 1_000 + numbered++);
        all.set(stream, [...(all.get(stream) ?? []), [n, text ?? "too long"]]);
      }
      const streams = (await directoryOf(state))?.streams ?? [];
      const lastWritten = [...all].toSorted(([, one], [, other]) => (one.at(-1)?.[0] ?? 0) - (other.at(-1)?.[0] ?? 0));
      assert.deepEqual(
        streams,
        lastWritten.slice(-bounds.streams).map(([name]) => name),
      );
      let pages = 0;
      for (const [name, sent] of all) {
        const answers = await Promise.all(sent.map(([n]) => sentAfter(state, name, n)));
        const first = answers.findIndex((answer) => answer !== undefined);
        if (!streams.includes(name)) assert.equal(first, -1);
        if (first < 0) continue;
        for (const [n, answer] of answers.entries()) assert.deepEqual(answer, n < first ? undefined : sent.slice(n + 1));
        const stored = sent.slice(first + 1);
        assert.ok(stored.length <= bounds.messages);
        assert.ok(stored.reduce((sum, [, text]) => sum + text.length, 0) <= bounds.bytes);
        pages += stored.length + 1;
      }
      // Nothing is stored that no stream refers to.
      assert.ok(state.values.size <= 1 + streams.length + pages);
      assert.equal(await sentAfter(state, "a", 999 + numbered + 1), undefined);
      assert.equal(await sentAfter(state, "missing", 1_000), undefined);
    }),
    { numRuns: 60 },
  );
});

test("a long stream costs each append a page at most, and retains nearly as much as it may", async () => {
  const state = new MapText();
  const most: RestateStreamBounds = { messages: 1_000, bytes: 1_048_576, streams: 32 };
  for (let n = 0; n < 3_000; n += 1) {
    state.forget();
    await append(state, most, { stream: "a", text: "x".repeat(300), at: 1 });
    const written = state.writes.reduce((sum, [, text]) => sum + (text?.length ?? 0), 0);
    assert.ok(written < 2 * PAGE_BYTES + 10_000, `wrote ${written}`);
    assert.ok(state.reads.length <= 2 && state.writes.length <= 4);
  }
  assert.equal((await sentAfter(state, "a", 2_120))?.length, 880);
  assert.equal(await sentAfter(state, "a", 1_990), undefined);
  assert.ok(state.values.size < 60);
});
