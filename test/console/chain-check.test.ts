// The console's page and the server verify chains with the same result.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChainCheck, checkHashes, digestHere } from "../../console/src/chain-check.ts";
import type { EventTexts } from "../../src/bridges/console/shapes.ts";
import { richChain } from "../../src/core/chain/chain.fixture.ts";
import { verify } from "../../src/core/chain/index.ts";

const digest = digestHere;
const chain: readonly EventTexts[] = (await richChain()).map((event, at) => ({ seq: at + 1, ...event }));

async function checked(events: readonly EventTexts[], page = 4): Promise<ChainCheck> {
  const check = new ChainCheck("counter/c", digest);
  for (let at = 0; at < events.length; at += page) if (!(await check.add(events.slice(at, at + page)))) break;
  return check;
}

test("the page verifies a chain page by page, also with erased bodies", async () => {
  const whole = await checked(chain);
  assert.deepEqual([whole.flaw, whole.seq, whole.head, whole.erased], [undefined, 13, chain.at(-1)?.id, 0]);
  const erased = await checked(
    chain.map(({ seq, id, header, body }, at) => ({ seq, id, header, ...(at < 6 || body === undefined ? {} : { body }) })),
  );
  assert.deepEqual([erased.flaw, erased.seq, erased.erased], [undefined, 13, 6]);
});

test("the page finds a change of any text at the event where the server finds it", async () => {
  let flips = 0;
  for (const [index, event] of chain.entries())
    for (const part of ["header", "body", "id"] as const) {
      const text = event[part] ?? "";
      for (let at = index % 7; at < text.length; at += 41) {
        const changed = `${text.slice(0, at)}${text[at] === "a" ? "b" : "a"}${text.slice(at + 1)}`;
        const events = chain.with(index, { ...event, [part]: changed });
        const { flaw } = await checked(events);
        assert.deepEqual(flaw?.seq, verify(events).flaw?.seq, `${part} ${index} ${at}`);
        assert.equal(flaw?.seq, index + 1);
        flips += 1;
      }
    }
  assert.ok(flips > 100);
});

test("the page finds missing, repeated and exchanged events, and those of others", async () => {
  const first = chain[0];
  assert.ok(first);
  const cases: readonly (readonly EventTexts[])[] = [
    chain.toSpliced(4, 1),
    [...chain.slice(0, 5), ...chain.slice(4)],
    chain.with(3, chain[4] ?? first).with(4, chain[3] ?? first),
    chain.slice(1),
  ];
  for (const events of cases) {
    const { flaw } = await checked(events);
    const expected = verify(events, { actor: "counter/c" }).flaw;
    assert.deepEqual([flaw?.seq, flaw?.code], [expected?.seq, expected?.code]);
  }
  const stranger = new ChainCheck("counter/other", digest);
  await stranger.add(chain);
  assert.equal(stranger.flaw?.code, "FOREIGN");
});

test("a header with a key twice is in no form that Troupe writes, whatever its hash", async () => {
  const event = chain[2];
  assert.ok(event);
  const twice = event.header.replace('"type":', '"at":1,"type":');
  const { flaw } = await checked(chain.with(2, { ...event, header: twice, id: await digest(twice) }));
  assert.deepEqual([flaw?.seq, flaw?.code], [3, "MALFORMED"]);
});

test("the hashes of one event are checked by themselves", async () => {
  const event = chain[5];
  assert.ok(event?.body);
  assert.deepEqual(await checkHashes(event, digest), { header: true, body: true });
  assert.deepEqual(await checkHashes({ id: event.id, header: event.header }, digest), { header: true, body: undefined });
  assert.deepEqual(await checkHashes({ ...event, body: `${event.body} ` }, digest), { header: true, body: false });
  assert.deepEqual(await checkHashes({ ...event, header: `${event.header} ` }, digest), { header: false, body: false });
});
