// Owns: the tests of every `ContentStore`.
import assert from "node:assert/strict";
import type { ContentStore, Digest } from "../../core/contract/index.ts";

/** A place where contents are stored, which a test can open repeatedly. */
export interface ContentPlace extends Disposable {
  open(bounds?: { readonly pieceBytes?: number; readonly totalBytes?: number }): ContentStore;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const NOWHERE = "0".repeat(64);

const refused = (code: string): { readonly name: string; readonly code: string } => ({ name: "StoreError", code });

/** Registers the tests every `ContentStore` passes. `durable`: what was put is there when the place is opened again. */
export function contentSuite(name: string, options: { readonly durable: boolean; readonly place: () => ContentPlace }): void {
  const { describe, test } = process.getBuiltinModule("node:test");
  const it = (title: string, run: (store: ContentStore, place: ContentPlace) => Promise<void>): void => {
    test(title, async () => {
      using place = options.place();
      await using store = place.open();
      await run(store, place);
    });
  };
  const bounds = (title: string, bound: Parameters<ContentPlace["open"]>[0], run: (store: ContentStore) => Promise<void>): void => {
    test(title, async () => {
      using place = options.place();
      await using store = place.open(bound);
      await run(store);
    });
  };

  describe(name, () => {
    it("bytes are read by their SHA-256, and stored once", async (store) => {
      assert.equal(await store.put(bytes("hello")), HELLO);
      assert.equal(await store.put(bytes("hello")), HELLO);
      assert.deepEqual(await store.get(HELLO), bytes("hello"));
      assert.deepEqual([await store.has(HELLO), await store.has(NOWHERE)], [true, false]);
      assert.equal(await store.get(NOWHERE), undefined);
      assert.equal(await store.get("no digest'"), undefined);
      const empty = await store.put(new Uint8Array());
      assert.deepEqual(await store.get(empty), new Uint8Array());
    });

    it("stored bytes cannot be changed through buffers that were put or got", async (store) => {
      const mine = bytes("hello");
      const putting = store.put(mine);
      mine.fill(0);
      const digest = await putting;
      const got = await store.get(digest);
      assert.deepEqual(got, bytes("hello"));
      got?.fill(0);
      assert.deepEqual(await store.get(digest), bytes("hello"));
    });

    it("a label names one digest at a time, in its own space", async (store) => {
      const [one, two] = await Promise.all([store.put(bytes("1")), store.put(bytes("2"))]);
      await store.label("a", "x", one);
      await store.label("b", "x", two);
      assert.equal(await store.labelled("a", "x"), one);
      assert.equal(await store.labelled("b", "x"), two);
      await store.label("a", "x", two);
      assert.equal(await store.labelled("a", "x"), two);
      await store.label("a", "x", undefined);
      await store.label("a", "never", undefined);
      assert.equal(await store.labelled("a", "x"), undefined);
      assert.equal(await store.labelled("c", "x"), undefined);
      await assert.rejects(store.label("a", "x", NOWHERE), refused("STORE_CONFLICT"));
    });

    it("labels are listed in pages, in the order of their characters", async (store) => {
      const digest = await store.put(bytes("1"));
      const names = ["a/b", "../..", "%", "é", "z", "\u{1f600}", "\uffee", "' OR 1", "__proto__", "b"];
      for (const each of names) await store.label("s", each, digest);
      const all = await store.labels("s", 100);
      assert.deepEqual(all, ["%", "' OR 1", "../..", "__proto__", "a/b", "b", "z", "é", "\uffee", "\u{1f600}"]);
      const paged: string[] = [];
      for (;;) {
        const page = await store.labels("s", 3, paged.at(-1));
        assert.ok(page.length <= 3);
        if (page.length === 0) break;
        paged.push(...page);
      }
      assert.deepEqual(paged, all);
      assert.deepEqual(await store.labels("s", 0), []);
      assert.deepEqual(await store.labels("s", -1), []);
      assert.deepEqual(await store.labels("other", 10), []);
    });

    it("a space lists what was put into it, in pages", async (store) => {
      const digests: Digest[] = [];
      for (let n = 0; n < 7; n += 1) digests.push(await store.put(bytes("x".repeat(n)), "s"));
      await store.put(bytes("elsewhere"));
      await store.put(bytes("xx"), "t");
      await store.put(bytes("xx"), "s");
      digests.sort();
      const first = await store.contents("s", 4);
      const rest = await store.contents("s", 10, first.at(-1)?.digest);
      assert.deepEqual(
        [...first, ...rest].map(({ digest }) => digest),
        digests,
      );
      const sizes = [...first, ...rest].map((one) => one.bytes);
      assert.deepEqual(
        sizes.toSorted((a, b) => a - b),
        [0, 1, 2, 3, 4, 5, 6],
      );
      assert.deepEqual(await store.contents("t", 10), [{ digest: await store.put(bytes("xx")), bytes: 2 }]);
      assert.deepEqual(await store.contents("u", 10), []);
    });

    it("collecting drops what neither a label nor its caller names, also from spaces", async (store) => {
      const [labelled, live, dead, deader] = await Promise.all(
        ["labelled", "live", "dead", "deader"].map((each) => store.put(bytes(each), "s")),
      );
      await store.label("s", "l", labelled);
      const collected = await store.collect([live ?? "", NOWHERE]);
      assert.deepEqual(collected, { kept: 2, dropped: 2, bytes: 10 });
      assert.deepEqual([await store.get(dead ?? ""), await store.has(deader ?? "")], [undefined, false]);
      assert.equal((await store.contents("s", 10)).length, 2);
      await store.label("s", "l", undefined);
      assert.deepEqual(await store.collect([]), { kept: 0, dropped: 2, bytes: 12 });
      assert.deepEqual(await store.put(bytes("dead")), dead);
      assert.deepEqual(await store.get(dead ?? ""), bytes("dead"));
    });

    it("what is put or labelled while it is collected stays", async (store) => {
      const old = await store.put(bytes("old"));
      const again = await store.put(bytes("again"));
      const named = await store.put(bytes("named"));
      let fresh = "";
      async function* live(): AsyncGenerator<Digest> {
        fresh = await store.put(bytes("fresh"));
        await store.put(bytes("again"), "s");
        await store.label("s", "l", named);
        yield* [];
      }
      const collected = await store.collect(live());
      assert.deepEqual(collected, { kept: 3, dropped: 1, bytes: 3 });
      assert.equal(await store.has(old), false);
      for (const digest of [fresh, again, named]) assert.equal(await store.has(digest), true);
    });

    it("puts during a collection of many are all there afterwards", async (store) => {
      const before = await Promise.all(Array.from({ length: 700 }, (_, n) => store.put(bytes(`before ${n}`))));
      const keep = before.filter((_, n) => n % 2 === 0);
      const putting: Promise<Digest>[] = [];
      async function* live(): AsyncGenerator<Digest> {
        for (const [n, digest] of keep.entries()) {
          putting.push(store.put(bytes(`before ${n + 1}`)), store.put(bytes(`fresh ${n}`)));
          yield digest;
        }
      }
      async function* all(): AsyncGenerator<Digest> {
        await collecting;
        yield* [...keep, ...(await Promise.all(putting))];
      }
      const collecting = store.collect(live());
      const other = store.collect(all());
      await collecting;
      await other;
      const put = await Promise.all(putting);
      assert.equal(put.length, 700);
      for (const digest of [...put, ...keep]) assert.equal(await store.has(digest), true);
      for (const digest of before.filter((_, n) => n > 351 && n % 2 === 1)) assert.equal(await store.has(digest), false);
    });

    it("a collection whose caller fails drops nothing, and the next one works", async (store) => {
      const digest = await store.put(bytes("x"));
      async function* live(): AsyncGenerator<Digest> {
        yield digest;
        throw new RangeError("no");
      }
      await assert.rejects(store.collect(live()), RangeError);
      assert.equal(await store.has(digest), true);
      assert.deepEqual(await store.collect([]), { kept: 0, dropped: 1, bytes: 1 });
    });

    bounds("content that is too large is refused, and nothing of it stored", { pieceBytes: 10, totalBytes: 25 }, async (store) => {
      await assert.rejects(store.put(bytes("12345678901")), refused("STORE_FULL"));
      const first = await store.put(bytes("1234567890"));
      await store.put(bytes("0987654321"));
      await store.put(bytes("0987654321"));
      await assert.rejects(store.put(bytes("third one")), refused("STORE_FULL"));
      assert.deepEqual(await store.put(bytes("1234567890")), first);
      assert.deepEqual(await store.collect([first]), { kept: 1, dropped: 1, bytes: 10 });
      await store.put(bytes("third one"));
    });

    it("ambiguous or unbounded names are refused", async (store) => {
      const digest = await store.put(bytes("1"));
      for (const label of ["", "x".repeat(1_025), "é".repeat(513)])
        await assert.rejects(store.label("s", label, digest), refused("STORE_FULL"));
      for (const label of ["\ud800", "a\0b"]) await assert.rejects(store.label("s", label, digest), refused("STORE_CONFLICT"));
      await assert.rejects(store.put(bytes("1"), "x".repeat(257)), refused("STORE_FULL"));
      await assert.rejects(store.label("\udfff", "l", digest), refused("STORE_CONFLICT"));
      await store.label("s", "x".repeat(1_024), digest);
    });

    it("a closed store throws STORE_CLOSED", async (store) => {
      const digest = await store.put(bytes("1"));
      await store[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      const calls = [
        () => store.put(bytes("2")),
        () => store.get(digest),
        () => store.has(digest),
        () => store.label("s", "l", digest),
        () => store.labelled("s", "l"),
        () => store.labels("s", 1),
        () => store.contents("s", 1),
        () => store.collect([]),
      ];
      for (const ask of calls) await assert.rejects(ask(), refused("STORE_CLOSED"));
    });

    if (!options.durable) return;
    it("contents and labels are there when the store is opened again", async (store, place) => {
      const digest = await store.put(bytes("hello"), "s");
      await store.label("s", "l", digest);
      await store[Symbol.asyncDispose]();
      await using again = place.open();
      assert.deepEqual(await again.get(HELLO), bytes("hello"));
      assert.equal(await again.labelled("s", "l"), HELLO);
      assert.deepEqual(await again.contents("s", 10), [{ digest: HELLO, bytes: 5 }]);
    });
  });
}
