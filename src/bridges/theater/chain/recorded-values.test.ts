import assert from "node:assert/strict";
import { test } from "node:test";
import { sha256 } from "../../../core/chain/index.ts";
import type { ChainEvent, Json } from "../../../core/contract/index.ts";
import type { TheaterEvent } from "../stage.ts";
import { Chain, Contents } from "./chain.fixture.ts";
import { verifyTheater } from "./link.ts";
import { theaterEvents } from "./projector.ts";

async function all(events: Iterable<ChainEvent>, get: Contents["get"]): Promise<readonly TheaterEvent[]> {
  const out: TheaterEvent[] = [];
  for await (const event of theaterEvents(events, get)) out.push(event);
  return out;
}

/** A chain with one call of a guest, with that state and record. */
function guestCall(contents: Contents, state: string, record: { readonly [key: string]: Json }): Chain {
  const chain = new Chain("guest/g1");
  const call = { export: "message-server-client.handle-send", params: [] };
  chain.event("send", {}, { manifest: "a".repeat(64), state: contents.put(state) }, { record: { call, did: [], end: "ok", ...record } });
  return chain;
}

const textOf = (event: TheaterEvent | undefined): string => Buffer.from(event?.data ?? []).toString();

void test("a state of more than 16 KiB is omitted, with its digest and length", async () => {
  for (const [length, projected] of [
    [16_384, true],
    [16_385, false],
  ] as const) {
    const contents = new Contents();
    const state = "x".repeat(length);
    const last = (await all(guestCall(contents, state, {}).events, contents.get)).at(-1);
    const result = projected ? `[[${Array.from(Buffer.from(state)).join(",")}],` : "[null,";
    assert.ok(textOf(last).includes(`"result":${result}`), String(length));
    assert.equal(last?.description?.includes(`(its state ${sha256(state)} of ${length} bytes is left out)`), !projected);
  }
});

void test("long state, arguments and reply of a kind's actor are omitted with digests", async () => {
  const chain = new Chain("tally/t1");
  const [state, args] = [{ text: "s".repeat(16_384) }, { text: "a".repeat(65_536) }];
  chain.event("add", args, state, { reply: { ok: args } });
  chain.event("add", {}, { text: "" }, { reply: { ok: null } });
  const events = await all(chain.events, new Contents().get);
  const [, , call, result, , short] = events;
  assert.ok(events.every(({ data }) => data.length < 200));
  assert.match(call?.description ?? "", new RegExp(`${sha256(JSON.stringify(args))} of 65547 bytes is left out`));
  assert.match(result?.description ?? "", new RegExp(`${sha256(JSON.stringify(state))} of 16395 bytes is left out; its reply`));
  assert.equal(short?.description, "Wasm call to function 'tally.add' completed");
});

void test("values are limited to 64 KiB each and 1 MiB per event, by recorded length", async () => {
  const contents = new Contents();
  const apart = (text: string): Json => ({ digest: contents.put(text), length: text.length });
  const [long, short] = [apart("l".repeat(65_537)), apart("s".repeat(65_536))];
  const call = { export: "message-server-client.handle-send", params: [long] };
  const send = (value: Json): Json => ({ name: "message-server-host.send", args: ["to", value], result: { ok: null } });
  const chain = guestCall(contents, "", { call, did: [send(long), ...Array.from({ length: 17 }, () => send(short))] });
  const events = await all(chain.events, contents.get);
  const sends = events.filter(({ data }) => Buffer.from(data).includes("SendMessageCall"));
  const leftOut = (event: TheaterEvent | undefined): boolean => /left out: [0-9a-f]{64} of \d+ bytes/.test(event?.description ?? "");
  assert.ok(leftOut(events[2]));
  assert.deepEqual(sends.map(leftOut), [true, ...Array.from({ length: 16 }, () => false), true]);
  assert.deepEqual(
    sends.map(({ data }) => data.length > 65_536),
    [false, ...Array.from({ length: 16 }, () => true), false],
  );
  assert.deepEqual(verifyTheater(events), { ok: true, events: events.length });
  contents.drop(sha256("l".repeat(65_537)));
  assert.deepEqual(await all(chain.events, contents.get), events);
});

void test("a value or host calls stored as one content count with their length", async () => {
  const contents = new Contents();
  const whole = (json: Json): Json => {
    const text = JSON.stringify(json);
    return { kept: { digest: contents.put(text), length: text.length } };
  };
  const log = { name: "runtime.log", args: ["hello"], result: null };
  const piece = (calls: number): Json => {
    const text = JSON.stringify(Array.from({ length: calls }, () => log));
    return { calls, kept: { digest: contents.put(text), length: text.length } };
  };
  const names = Array.from({ length: 4_000 }, (_, at) => `name ${at}`);
  const call = { export: "message-server-client.handle-send", params: [whole(names.slice(0, 2_000)), whole([...names, ...names])] };
  const events = await all(guestCall(contents, "", { call, did: [piece(3), piece(50_000)] }).events, contents.get);
  const [, , params, ...others] = events;
  assert.match(params?.description ?? "", /left out: [0-9a-f]{64} of \d+ bytes/);
  assert.ok(textOf(params).length > 50_000 && textOf(params).length < 200_000);
  const texts = others.slice(0, -1).map(textOf);
  assert.deepEqual(
    texts.slice(0, -1),
    Array.from({ length: 3 }, () => '{"Runtime":{"Log":{"level":"info","message":"hello"}}}'),
  );
  assert.match(texts.at(-1) ?? "", /50000 host calls that are left out: [0-9a-f]{64}/);
});
