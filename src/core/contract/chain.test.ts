import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChainEvent, charactersIn, EventPages, newestWithin } from "./chain.ts";

const events = (count: number, length: number): readonly ChainEvent[] =>
  Array.from({ length: count }, () => ({ id: "e", header: "h".repeat(100), body: "b".repeat(length) }));

test("pages of events grow while events are small, and shrink to one while they are large", () => {
  const pages = new EventPages(100);
  const sizes: number[] = [];
  for (let n = 0; n < 6; n += 1) {
    sizes.push(pages.size);
    pages.read(events(pages.size, 200));
  }
  assert.deepEqual(sizes, [4, 8, 16, 32, 64, 100]);
  pages.read(events(100, 100_000));
  assert.equal(pages.size, 10);
  pages.read(events(2, 4_000_000));
  assert.equal(pages.size, 1);
  pages.read([]);
  assert.equal(pages.size, 1);
  pages.read([{ id: "e", header: "h" }]);
  assert.equal(pages.size, 2);
  assert.equal(new EventPages(1).size, 1);
  assert.equal(charactersIn(events(2, 5)), 210);
});

test("the newest events within a length are those that come last, at least one", async () => {
  async function* chain(...lengths: readonly number[]): AsyncGenerator<ChainEvent> {
    for (const [at, length] of lengths.entries()) yield { id: String(at), header: "", body: "b".repeat(length) };
  }
  const ids = async (...lengths: readonly number[]): Promise<string> =>
    (await newestWithin(chain(...lengths), 10)).map(({ id }) => id).join("");
  assert.equal(await ids(), "");
  assert.equal(await ids(4, 6), "01");
  assert.equal(await ids(5, 6), "1");
  assert.equal(await ids(1, 99, 1, 2, 3), "234");
  assert.equal(await ids(1, 99), "1");
});
