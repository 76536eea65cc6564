import assert from "node:assert/strict";
import { test } from "node:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import * as z from "zod";
import { actor } from "../../../core/actor/index.ts";
import { readBody } from "../../../core/chain/index.ts";
import { tallyKind } from "../../../testing/conformance/index.ts";
import { type ActorId, type ContentStore, isJsonObject } from "../../../core/contract/index.ts";
import { memoryContents } from "../../../core/store/index.ts";
import {
  ALL,
  type ScriptContext,
  bytesOf,
  manifest,
  GuestError,
  guestMessage,
  type Script,
  stage,
  textOf,
  decoded,
} from "../guest/stage.fixture.ts";
import type { GuestOptions } from "../guest-options.ts";
import type { Grants } from "../manifest/manifest.ts";
import type { WitValue } from "../wit.ts";
import { asRecord, asText } from "./values.ts";

/** Runs a test's function in one request. */
const doing = (act: (asked: ScriptContext) => Promise<void>): Readonly<Record<string, Script>> => ({
  actor: {
    "actor.init": async () => ({}),
    "message-server-client.handle-request": async (asked) => {
      await act(asked);
      return { back: bytesOf("done") };
    },
    "message-server-client.handle-send": async (_, [data]) => ({ state: decoded(data) }),
  },
});

async function does(act: (asked: ScriptContext) => Promise<void>, grants: Grants = ALL, more: Partial<GuestOptions> = {}): Promise<void> {
  await using on = await stage(doing(act), more);
  const id = await on.start("actor", { grants });
  assert.equal(textOf(await on.request(id, "?")), "done");
}

const ok = (value: WitValue): WitValue => {
  const fields = asRecord(value);
  assert.ok("ok" in fields, inspect(value));
  return fields["ok"];
};
const err = (value: WitValue): string => asText(asRecord(value)["err"]);

test("a store has contents by digest and label, for any guest that knows its id", () =>
  does(async ({ ask }) => {
    const [one, other] = [ok(await ask("store.new")), ok(await ask("store.new"))];
    assert.notEqual(one, other);
    const ref = ok(await ask("store.store", one, bytesOf("hello")));
    assert.equal(decoded(ok(await ask("store.get", one, ref))), "hello");
    assert.match(err(await ask("store.get", other, ref)), /is not in this store/u);
    assert.deepEqual([ok(await ask("store.exists", one, ref)), ok(await ask("store.exists", other, ref))], [true, false]);
    assert.equal(ok(await ask("store.get-by-label", one, "last")), undefined);
    ok(await ask("store.label", one, "last", ref));
    assert.match(err(await ask("store.label", other, "last", ref)), /store it first/u);
    assert.deepEqual(ok(await ask("store.get-by-label", one, "last")), ref);
    const next = ok(await ask("store.store-at-label", one, "last", bytesOf("more")));
    assert.deepEqual(ok(await ask("store.get-by-label", one, "last")), next);
    assert.deepEqual(ok(await ask("store.replace-content-at-label", one, "last", bytesOf("hello"))), ref);
    ok(await ask("store.replace-at-label", one, "last", next));
    ok(await ask("store.label", one, "first", ref));
    assert.deepEqual(ok(await ask("store.list-labels", one)), ["first", "last"]);
    assert.equal(ok(await ask("store.calculate-total-size", one)), 9n);
    const all = ok(await ask("store.list-all-content", one));
    assert.ok(Array.isArray(all) && all.length === 2);
    assert.match(err(await ask("store.remove-from-label", one, "last", ref)), /does not name that content/u);
    ok(await ask("store.remove-from-label", one, "last", next));
    ok(await ask("store.remove-label", one, "first"));
    assert.deepEqual(ok(await ask("store.list-labels", one)), []);
  }));

test("a collection between storing a content and labelling it removes neither", async () => {
  const inner = memoryContents();
  const contents: ContentStore = {
    put: (bytes, space) => inner.put(bytes, space),
    get: (digest) => inner.get(digest),
    has: (digest) => inner.has(digest),
    async label(...given) {
      await inner.collect(on.guests.live());
      return inner.label(...given);
    },
    labelled: (...given) => inner.labelled(...given),
    labels: (...given) => inner.labels(...given),
    contents: (...given) => inner.contents(...given),
    collect: (live) => inner.collect(live),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
  await using on = await stage(
    doing(async ({ ask }) => {
      const space = ok(await ask("store.new"));
      const ref = ok(await ask("store.store-at-label", space, "a", bytesOf("hello")));
      assert.equal(decoded(ok(await ask("store.get", space, ref))), "hello");
      ok(await ask("store.label", space, "b", ok(await ask("store.store", space, bytesOf("more")))));
    }),
    { contents },
  );
  assert.equal(textOf(await on.request(await on.start("actor"), "?")), "done");
});

test("a store of 10,000 contents or labels is listed, and a larger one is an error", async () => {
  await using contents = memoryContents();
  await does(
    async ({ ask }) => {
      const space = ok(await ask("store.new"));
      const add = async (from: number, to: number): Promise<void> => {
        for (let n = from; n < to; n += 1)
          await contents.label(asText(space), `label ${n}`, await contents.put(bytesOf(`${n}`), asText(space)));
      };
      await add(0, 10_000);
      for (const list of ["store.list-all-content", "store.list-labels"] as const) {
        const all = ok(await ask(list, space));
        assert.equal(Array.isArray(all) && all.length, 10_000);
      }
      await add(10_000, 10_001);
      assert.match(err(await ask("store.list-all-content", space)), /more than 10000 contents/u);
      assert.match(err(await ask("store.list-labels", space)), /more than 10000 labels/u);
    },
    ALL,
    { contents },
  );
});

test("invalid store ids, labels and hashes are errors", () =>
  does(async ({ ask }) => {
    const id = ok(await ask("store.new"));
    for (const space of ["", "manifest", "..", "x".repeat(10_000)]) assert.match(err(await ask("store.list-labels", space)), /no store/u);
    for (const label of ["", "x".repeat(257)]) assert.match(err(await ask("store.get-by-label", id, label)), /1 to 256 characters/u);
    for (const hash of ["", "../x", "A".repeat(64), "0".repeat(63)])
      assert.match(err(await ask("store.get", id, { hash })), /64 lower-case hex digits/u);
    assert.equal(ok(await ask("store.exists", id, { hash: "0".repeat(64) })), false);
  }));

test("imports that the manifest does not grant are denied", () =>
  does(async ({ ask }) => {
    const calls = [
      ["runtime.get-chain"],
      ["message-server-host.send", "guest/x", bytesOf("")],
      ["supervisor.spawn", "x", undefined],
      ["store.new"],
      ["timing.sleep", 1n],
      ["filesystem.read-file", "x"],
      ["http-client.send-http", { method: "GET", uri: "http://a.test/", headers: [], body: undefined }],
    ] as const;
    for (const [name, ...args] of calls)
      assert.match(err(await ask(name, ...args)), /is not granted: add its handler to the manifest/u, name);
  }, {}));

test("sleep and deadline wait on the clock, within what the manifest allows", async () => {
  const woke: number[] = [];
  await using on = await stage(
    doing(async ({ ask }) => {
      assert.match(err(await ask("timing.sleep", 10_001n)), /its manifest allows 10000/u);
      assert.match(err(await ask("timing.sleep", 2n ** 64n - 1n)), /its manifest allows/u);
      assert.match(err(await ask("timing.sleep", 0n)), /no less than 1/u);
      assert.match(err(await ask("timing.deadline", BigInt(on.clock.now()) + 20_000n)), /its manifest allows 10000/u);
      assert.deepEqual(await ask("timing.deadline", 5n), { ok: undefined });
      woke.push(on.clock.now());
      assert.deepEqual(await ask("timing.sleep", 1_000n), { ok: undefined });
      woke.push(on.clock.now());
      assert.deepEqual(await ask("timing.deadline", BigInt(on.clock.now()) + 500n), { ok: undefined });
      woke.push(on.clock.now());
    }),
  );
  const id = await on.start("actor");
  const from = on.clock.now();
  const asked = on.request(id, "?");
  await on.clock.advance(2_000);
  assert.equal(textOf(await asked), "done");
  assert.deepEqual(
    woke.map((at) => at - from),
    [0, 1_000, 1_500],
  );
});

test("get-chain returns the newest events with ids of 64 bits", async () => {
  const seen: WitValue[] = [];
  await using on = await stage(doing(async ({ ask }) => void seen.push(await ask("runtime.get-chain"))));
  const id = await on.start("actor");
  await on.request(id, "?");
  await on.request(id, "again");
  const [first, second] = (await on.events(id)).map((event) => BigInt(`0x${event.id.slice(0, 16)}`));
  const events = asRecord(seen[1])["events"];
  assert.ok(Array.isArray(events));
  assert.deepEqual(
    events.map((event: { hash: bigint; event: { "event-type": string; parent: bigint | undefined } }) => [
      event.hash,
      event.event["event-type"],
      event.event.parent,
    ]),
    [
      [first, "start", undefined],
      [second, "request", first],
    ],
  );
});

test("get-chain hides seeds, from which a guest could predict its receivers' random numbers", async () => {
  const seen: WitValue[] = [];
  await using on = await stage(doing(async ({ ask }) => void seen.push(await ask("runtime.get-chain"))));
  const id = await on.start("actor");
  await on.request(id, "?");
  const [event] = await on.events(id);
  const message = readBody(event ?? assert.fail())?.message;
  assert.ok(isJsonObject(message));
  const { seed, ...rest } = message;
  assert.ok(typeof seed === "string");
  const events = asRecord(seen[0])["events"];
  const data = Array.isArray(events) ? asRecord(asRecord(events[0])["event"])["data"] : undefined;
  const shown = decoded(data);
  assert.ok(!shown.includes(seed));
  assert.deepEqual(JSON.parse(shown).message, rest);
});

test("other actors get JSON actions, and decide as for any viewer", async () => {
  const tally: ActorId = "tally/a";
  await using on = await stage(
    doing(async ({ ask }) => {
      assert.deepEqual(
        JSON.parse(decoded(ok(await ask("message-server-host.request", tally, bytesOf('{"action":"add","args":{"by":2}}'))))),
        3,
      );
      for (const bad of [
        "",
        "[]",
        '{"action":3}',
        "\xff",
        `{"action":"add","args":${"[".repeat(70)}${"]".repeat(70)}}`,
        '{"action":"a","args":"\\ud800"}',
      ])
        assert.match(err(await ask("message-server-host.request", tally, bytesOf(bad))), /no guest: send it JSON text/u, bad);
      const rounded = bytesOf('{"action":"add","args":{"by":9007199254740993}}');
      assert.match(err(await ask("message-server-host.request", tally, rounded)), /9007199254740993 is an integer that no double holds/u);
      assert.match(err(await ask("message-server-host.request", tally, bytesOf('{"action":"nonsense"}'))), /UNKNOWN/u);
      assert.match(err(await ask("message-server-host.open-channel", tally, bytesOf(""))), /takes no channels/u);
    }),
    { kinds: [tallyKind("tally")] },
  );
  await on.engine.call({ to: tally, action: "add", args: null, start: null });
  const id = await on.start("actor");
  assert.equal(textOf(await on.request(id, "?")), "done");
});

test("actions that require scopes are refused to guests", async () => {
  const vault = actor("vault", {
    description: "A vault.",
    per: "link",
    autoStart: true,
    state: z.object({ opened: z.number().default(0) }),
    tools: {
      look: { description: "Look at it.", run: ({ state }) => `${state.opened}` },
      open: {
        description: "Open it.",
        scopes: ["admin"],
        run({ state }) {
          state.opened += 1;
        },
      },
    },
  });
  const to: ActorId = "vault/a";
  await using on = await stage(
    doing(async ({ ask }) => {
      for (const how of ["request", "send"] as const)
        assert.match(err(await ask(`message-server-host.${how}`, to, bytesOf('{"action":"tools/open"}'))), /^SCOPE: .*admin/u);
      assert.equal(decoded(ok(await ask("message-server-host.request", to, bytesOf('{"action":"tools/look"}')))), '"0"');
    }),
    { kinds: [vault] },
  );
  assert.deepEqual(await on.engine.call({ to, action: "tools/look", args: {} }), { ok: "0" });
  const id = await on.start("actor");
  assert.equal(textOf(await on.request(id, "?")), "done");
});

test("a send to a paused guest fails", async () => {
  const other: ActorId = "guest/actor2";
  const seen: WitValue[] = [];
  let channel = "";
  await using on = await stage({
    actor: {
      "actor.init": async () => ({}),
      "message-server-client.handle-channel-open": async () => ({ back: { accepted: true, message: undefined } }),
      "message-server-client.handle-send": async (_, [data]) => {
        if (decoded(data) === "fail") throw new GuestError("no");
        return { state: decoded(data) };
      },
      "message-server-client.handle-request": async ({ ask }) => {
        channel ||= decoded(ok(await ask("message-server-host.open-channel", other, bytesOf(""))));
        seen.push(await ask("message-server-host.send", other, bytesOf("sent")));
        seen.push(await ask("message-server-host.send-on-channel", channel, bytesOf("said")));
        return { back: bytesOf("done") };
      },
    },
  });
  const [id, paused] = [await on.start("actor"), await on.start("actor")];
  assert.equal(paused, other);
  await on.request(id, "?");
  await on.engine.call(guestMessage(paused, "send", "fail"));
  await on.request(id, "?");
  assert.deepEqual(seen.slice(0, 2), [{ ok: undefined }, { ok: undefined }]);
  for (const refused of seen.slice(2)) assert.match(err(refused), /^PAUSED: This actor is paused after event \d+ .*restart it/u);
  await on.engine.call({ to: paused, action: "resume", args: {} });
  await on.request(id, "?");
  assert.deepEqual(seen.slice(4), [{ ok: undefined }, { ok: undefined }]);
});

test("a guest addresses actors by UUID, unique name or kind/key, and itself", async () => {
  await using on = await stage(
    doing(async ({ ask, call }) => {
      for (const name of ["actor2", "guest/actor2", call.guest])
        assert.deepEqual(await ask("message-server-host.send", name, bytesOf(name)), { ok: undefined });
      for (const name of [
        "",
        "nobody",
        "guest/nobody",
        "guest/%61ctor2",
        "nokind/x",
        "x".repeat(300),
        "a/b/c",
        "00000000-0000-4000-8000-000000000000",
      ])
        assert.match(err(await ask("message-server-host.send", name, bytesOf(""))), /There is no actor/u, name);
      assert.match(err(await ask("message-server-host.open-channel", call.guest, bytesOf(""))), /no channel to itself/u);
    }),
  );
  const id = await on.start("actor");
  await on.start("actor");
  assert.equal(textOf(await on.request(id, "?")), "done");
});

test("a guest without a directory in its manifest gets a private one, if the operator has one for them", async () => {
  const directory = await mkdtemp(join(tmpdir(), "guests-"));
  try {
    const grants: Grants = { filesystem: { write: true } };
    const write = async ({ ask }: ScriptContext): Promise<void> => void ok(await ask("filesystem.write-file", "note", "hello"));
    await does(write, grants, { directory });
    const [own = ""] = await readdir(directory);
    assert.match(own, /^[0-9a-f-]{36}$/u);
    assert.deepEqual(await readdir(join(directory, own)), ["note"]);
    const lives = join(directory, "lives");
    await using on = await stage(
      doing(async (asked) => {
        assert.deepEqual(ok(await asked.ask("filesystem.list-files", "")), []);
        await write(asked);
      }),
      { directory: lives },
    );
    for (const life of ["first", "second"]) {
      const given = { to: "guest/again", manifest: manifest("actor", { grants }) } as const;
      assert.ok("ok" in (await on.engine.call(await on.guests.prepare(given))));
      assert.equal(textOf(await on.request("guest/again", "?")), "done", life);
      await on.engine.stop("guest/again", "enough");
    }
    assert.equal((await readdir(lives)).length, 2);
    await does(async ({ ask }) => assert.match(err(await ask("filesystem.list-files", "")), /no files for guests here/u), grants);
  } finally {
    await rm(directory, { recursive: true });
  }
});
