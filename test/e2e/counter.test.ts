// examples/counter and examples/counter-disk, with every client.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { troupe } from "../cli/run.ts";
import { CLIENTS, connect, type Player, type Way, type Which } from "../clients.ts";
import { type Served, serveChild } from "../serve-child.ts";
import { at, isJsonObject, modern, opened } from "../wire.ts";

const COUNTER = "examples/counter";
const ON_DISK = "examples/counter-disk";

const folder = () => {
  const path = mkdtempSync(join(tmpdir(), "troupe-counter-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

const countIn = async (player: Player): Promise<number> => Number((await player.call("get")).text);

/** HTTP and a socket of one process. */
const doors = ({ ready }: Served): { readonly http: string; readonly tcp: string } => {
  assert.ok(ready.http !== undefined && ready.tcp !== undefined);
  return { http: ready.http, tcp: ready.tcp };
};

const named = ({ sdk, era }: Which): string => `SDK ${sdk}, ${era}`;

/** Calls both tools, without a handle or prefix, as any client. */
const plays = async (player: Player): Promise<void> => {
  const tools = await player.tools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["add", "get"],
    `${player.name}: no prefix, no handle to start`,
  );
  for (const { inputSchema } of tools)
    assert.equal(at(inputSchema, "properties", "handle"), undefined, `${player.name}: no handle to give`);
  const before = await countIn(player);
  assert.deepEqual((await player.call("add", { by: 5 })).text, String(before + 5));
  assert.deepEqual((await player.call("add")).text, String(before + 6), "by is 1 by default");
  assert.equal((await player.call("add", { by: "much" })).isError, true);
  assert.equal(await countIn(player), before + 6);
};

describe("the counter, with no handle and no prefix", () => {
  test("is one counter for SDK v1 and v2, in both eras, over HTTP and TCP #cli.modules.folder", async () => {
    await using served = await serveChild([COUNTER, "--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]);
    const { http, tcp } = doors(served);
    let rounds = 0;
    for (const way of [{ http }, { tcp }] satisfies Way[])
      for (const which of CLIENTS) {
        await using player = await connect(way, which);
        await plays(player);
        rounds += 1;
        assert.equal(await countIn(player), rounds * 6);
      }
  });

  test("counts over a Unix socket #gateway.unix #cli.serve", async () => {
    using place = folder();
    await using served = await serveChild([COUNTER, "--tcp", join(place.path, "mcp.sock")]);
    const { tcp } = served.ready;
    assert.ok(tcp?.startsWith("unix:") === true);
    for (const which of CLIENTS) {
      await using player = await connect({ tcp }, which);
      await plays(player);
    }
  });

  for (const which of CLIENTS)
    test(`counts over stdio: ${named(which)}`, async () => {
      using place = folder();
      await using player = await connect({ stdio: COUNTER, data: place.path }, which);
      await plays(player);
      assert.equal(await countIn(player), 6);
    });
});

describe("the counter on disk", () => {
  test("keeps its count when its process restarts, over every transport", async () => {
    using place = folder();
    let expected = 0;
    for (const _round of [1, 2]) {
      await using served = await serveChild([ON_DISK, "--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0"], { data: place.path });
      const { http, tcp } = doors(served);
      for (const way of [{ http }, { tcp }] satisfies Way[])
        for (const which of CLIENTS) {
          await using player = await connect(way, which);
          assert.equal(await countIn(player), expected);
          await plays(player);
          expected += 6;
        }
    }
    await using pipe = await connect({ stdio: ON_DISK, data: place.path }, { sdk: "v2", era: "modern" });
    assert.equal(await countIn(pipe), expected);
  });

  test("C4 a call repeated under its id gets its first reply and is counted once, in each client and era #actors.call-id #spec.6.trust.each-call", async () => {
    await using served = await serveChild([ON_DISK, "--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]);
    const { http, tcp } = doors(served);
    for (const way of [{ http }, { tcp }] satisfies Way[])
      for (const which of CLIENTS) {
        await using player = await connect(way, which);
        const before = await countIn(player);
        const callId = `call ${player.name}`;
        assert.equal((await player.call("add", { by: 3 }, { callId })).text, String(before + 3));
        await player.call("add", { by: 10 });
        assert.equal(
          (await player.call("add", { by: 3 }, { callId })).text,
          String(before + 3),
          "the first reply, though the counter stands higher",
        );
        assert.equal(
          (await player.call("add", { by: 3 }, { callId: `${callId} again` })).text,
          String(before + 16),
          "another name is another call",
        );
        assert.equal(await countIn(player), before + 16);
      }
  });

  test("C4 the header Idempotency-Key identifies a call as well, in both eras #actors.idempotency-key", async () => {
    await using served = await serveChild([ON_DISK]);
    const { http } = served.ready;
    assert.ok(http !== undefined);
    const session = await opened(http);
    const add = { name: "add", arguments: { by: 2 } };
    const key = { "idempotency-key": "seven" };
    assert.equal(at((await session.request("tools/call", add, key)).reply, "result", "content", 0, "text"), "2");
    await session.request("tools/call", add);
    assert.equal(at((await session.request("tools/call", add, key)).reply, "result", "content", 0, "text"), "2");
    const first = await modern(http, "tools/call", add, { "idempotency-key": "eight" });
    assert.equal(at(first.reply, "result", "content", 0, "text"), "6");
    await modern(http, "tools/call", add);
    const again = await modern(http, "tools/call", add, { "idempotency-key": "eight" });
    assert.equal(at(again.reply, "result", "content", 0, "text"), "6");
    assert.equal(at((await modern(http, "tools/call", { name: "get" })).reply, "result", "content", 0, "text"), "8");
  });

  test("C4 the first reply survives a restart", async () => {
    using place = folder();
    const way: Way = { stdio: ON_DISK, data: place.path };
    const which: Which = { sdk: "v1", era: "legacy" };
    {
      await using player = await connect(way, which);
      assert.equal((await player.call("add", { by: 4 }, { callId: "four" })).text, "4");
      await player.call("add", { by: 1 });
    }
    await using player = await connect(way, which);
    assert.equal((await player.call("add", { by: 4 }, { callId: "four" })).text, "4");
    assert.equal(await countIn(player), 5);
  });

  test("results carry a receipt if the server enables it, and the chain confirms it #actors.receipts", async () => {
    using place = folder();
    const receipts: unknown[] = [];
    {
      await using served = await serveChild([ON_DISK, "--receipts"], { data: place.path });
      const { http } = served.ready;
      assert.ok(http !== undefined);
      for (const which of CLIENTS) {
        await using player = await connect({ http }, which);
        const { meta } = await player.call("add");
        receipts.push(meta["troupe/receipt"]);
        assert.equal((await player.call("get")).meta["troupe/receipt"], undefined, "a read commits nothing");
      }
    }
    assert.deepEqual(
      receipts.map((receipt) => [at(receipt, "actor"), at(receipt, "seq")]),
      [1, 2, 3].map((seq) => ["counter/main", seq]),
    );
    for (const receipt of receipts) {
      assert.ok(isJsonObject(receipt) && /^[0-9a-f]{64}$/.test(String(receipt["head"])));
      const { code, stderr } = await troupe("verify", "counter/main", "--receipt", JSON.stringify(receipt), "--data", place.path, "--json");
      assert.equal(code, 0, stderr);
    }
    const forged = JSON.stringify({ actor: "counter/main", seq: 2, head: "0".repeat(64) });
    assert.equal((await troupe("verify", "counter/main", "--receipt", forged, "--data", place.path, "--json")).code, 5);
  });

  test("results carry no receipt by default #actors.receipts", async () => {
    await using served = await serveChild([ON_DISK]);
    const { http } = served.ready;
    assert.ok(http !== undefined);
    for (const which of CLIENTS) {
      await using player = await connect({ http }, which);
      assert.equal((await player.call("add")).meta["troupe/receipt"], undefined);
    }
  });
});
