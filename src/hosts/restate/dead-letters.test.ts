import assert from "node:assert/strict";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { type EngineError, systemClock, type Message } from "../../core/contract/index.ts";
import { SimulatedEntropy } from "../../testing/index.ts";
import { messageTo, tallyKind } from "../../testing/conformance/index.ts";
import { onLoopback } from "../../../test/on-loopback.ts";
import { mapHandler, DEAD_LETTERS } from "./directory.ts";
import { Ingress } from "./ingress.ts";
import { DeadLetters } from "./dead-letters.ts";
import { MapClient } from "./map-client.ts";
import { sealer, unsealed, type Sealer } from "./sealer.ts";
import { World } from "./world.fixture.ts";

/** An ingress that accepts sends once per idempotency key, and loses its first answer. */
async function postOffice() {
  const world = new World({ kinds: [tallyKind("tally")] });
  const delivered: unknown[] = [];
  const taken = new Set<unknown>();
  let sends = 0;
  let entriesRead = 0;
  const server = createServer((request, response) => {
    void (async () => {
      const [object = "", key = "", handler = "", send] = (request.url ?? "").slice(1).split("/").map(decodeURIComponent);
      const input: unknown = JSON.parse(await text(request));
      if (send === undefined) {
        const answer = await world.ask({ object, key, handler }, input);
        const { entries } = Object(Object(answer)["value"] ?? answer);
        if (handler === "list" && Array.isArray(entries)) entriesRead += entries.length;
        response.end(JSON.stringify(answer));
      } else {
        const idempotencyKey = request.headers["idempotency-key"];
        if (idempotencyKey === undefined || !taken.has(idempotencyKey)) delivered.push(Object(input)["message"]);
        if (idempotencyKey !== undefined) taken.add(idempotencyKey);
        sends += 1;
        if (sends === 1) request.socket.destroy();
        else response.end(JSON.stringify({ invocationId: "inv_1" }));
      }
    })();
  });
  const loopback = await onLoopback(server);
  const base = loopback.url;
  const entropy = new SimulatedEntropy();
  return {
    delivered,
    entriesRead: () => entriesRead,
    letters: new DeadLetters({
      ingress: new Ingress({ base, clock: systemClock, patienceMs: 5_000 }),
      names: world.names,
      maps: new MapClient({ ingress: base, entropy }),
      entropy,
      sealerFor: () => unsealed,
    }),
    async bury(message: Message, at: number, seal: Sealer["seal"] = unsealed.seal): Promise<void> {
      const key = `${String(at).padStart(15, "0")} ${message.id}`;
      await world.ask(mapHandler(world.names, DEAD_LETTERS, key, "put"), { key, value: { message: seal(message), why: "X: no", at } });
    },
    async buryMany(first: number, count: number): Promise<void> {
      const entries = Array.from({ length: count }, (_, n) => {
        const [at, message] = [first + n, messageTo("tally/main", `m.${first + n}`)];
        return [`${String(at).padStart(15, "0")} ${message.id}`, { message, why: "X: no", at }];
      });
      await world.ask(mapHandler(world.names, DEAD_LETTERS, "", "putMany"), { entries });
    },
    [Symbol.asyncDispose]: () => loopback[Symbol.asyncDispose](),
  };
}

void test("C5 a replayed dead letter is sent once although the answer is lost, and again if it fails again", async () => {
  await using office = await postOffice();
  const { letters, delivered } = office;
  const message = messageTo("tally/main", "m.1");
  for (const times of [1, 2]) {
    await office.bury(message, times);
    assert.ok(await letters.settle(message.id, "replay"));
    assert.deepEqual(
      delivered,
      Array.from({ length: times }, () => ({ ...message, replays: 1 })),
    );
    assert.deepEqual(await letters.list(10), []);
  }
});

void test("a dead letter is found behind many, and none under another id", async () => {
  await using office = await postOffice();
  const { letters, delivered } = office;
  for (let n = 1; n <= 40; n += 1) await office.bury(messageTo("tally/main", `m.${n}`), n);
  assert.ok(await letters.settle("m.40", "drop"));
  assert.equal(await letters.settle("m.40", "drop"), false);
  assert.equal(await letters.settle(".4", "drop"), false);
  assert.equal((await letters.list(100)).length, 39);
  assert.deepEqual(delivered, []);
});

void test("more dead letters than one answer has are listed, oldest first", async () => {
  await using office = await postOffice();
  for (let first = 1; first < 1_010; first += 500) await office.buryMany(first, Math.min(500, 1_011 - first));
  assert.equal((await office.letters.list(1_005)).at(-1)?.message.id, "m.1005");
  assert.equal((await office.letters.list(2_000)).length, 1_010);
});

void test("a page of dead letters does not read all pages before it again", async () => {
  await using office = await postOffice();
  await office.buryMany(1, 400);
  const seen = new Set<string>();
  const read = office.entriesRead();
  for (let page = await office.letters.list(20, undefined, seen); page.length > 0; page = await office.letters.list(20, undefined, seen))
    for (const { message } of page) seen.add(message.id);
  assert.deepEqual(
    [...seen],
    Array.from({ length: 400 }, (_, n) => `m.${n + 1}`),
  );
  assert.ok(office.entriesRead() - read <= 1_000, `${office.entriesRead() - read} read`);
  assert.deepEqual(await office.letters.list(20, undefined, seen), []);
});

void test("a dead letter that cannot be opened hides no other, and can be dropped", async () => {
  await using office = await postOffice();
  const { letters } = office;
  await office.bury(messageTo("tally/main", "m.1"), 1, sealer(Buffer.alloc(32, "an earlier secret")).seal);
  await office.bury(messageTo("tally/main", "m.2"), 2);
  const damaged: EngineError[] = [];
  assert.deepEqual(
    (await letters.list(10, (error) => damaged.push(error))).map(({ message }) => message.id),
    ["m.2"],
  );
  assert.deepEqual(
    damaged.map(({ code }) => code),
    ["STORE_CORRUPT"],
  );
  await assert.rejects(letters.settle("m.1", "replay"), { name: "EngineError", code: "STORE_CORRUPT" });
  assert.ok(await letters.settle("m.1", "drop"));
  assert.equal((await letters.list(10)).length, 1);
});
