import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import type { ActorId, ChainEvent, Row, Stored } from "../contract/index.ts";
import { counter, richChain, Scribe } from "./chain.fixture.ts";
import { headerText, seal } from "./event.ts";
import {
  checkpointEntry,
  forkEntry,
  importLine,
  exportLine,
  readBody,
  readHeader,
  sha256,
  signingKey,
  stateFrom,
  verify,
  verifyStream,
} from "./index.ts";

const chain = await richChain();
const last = chain.at(-1);
assert.ok(last);
const bare = ({ id, header }: ChainEvent): ChainEvent => ({ id, header });

test("a chain verifies, also with erased bodies that a whole state follows", async () => {
  assert.deepEqual(verify(chain), {
    flaw: undefined,
    events: 13,
    actor: "counter/c",
    seq: 13,
    head: last.id,
    erased: 0,
    signedSeq: undefined,
  });
  const erased = chain.map((event, index) => (index < 6 ? bare(event) : event));
  assert.equal(verify(erased).flaw, undefined);
  assert.equal(verify(erased).erased, 6);
  assert.equal(verify(chain.map((event, index) => (index === 12 ? bare(event) : event))).flaw?.code, "ERASED");
  async function* pages(): AsyncGenerator<ChainEvent> {
    yield* chain;
  }
  assert.deepEqual(await verifyStream(pages()), verify(chain));
  assert.deepEqual(verify([]), { flaw: undefined, events: 0, actor: undefined, seq: 0, head: null, erased: 0, signedSeq: undefined });
  assert.equal(verify(chain.slice(5), { after: { seq: 5, id: chain[4]?.id ?? "" } }).events, 8);
});

test("C7 a flipped bit in a header, a body or an id is detected at its event #chain.verify.bits", () => {
  for (const [index, event] of chain.entries())
    for (const part of ["header", "body", "id"] as const) {
      const bytes = Buffer.from(event[part] ?? "");
      for (let bit = (index * 5) % 7; bit < bytes.length * 8; bit += 11) {
        const flipped = Buffer.from(bytes);
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const text = flipped.toString("utf8");
        const { flaw } = verify(chain.with(index, { ...event, [part]: text }));
        assert.equal(flaw?.seq, index + 1, `bit ${bit} of ${part} ${index}`);
      }
    }
});

test("dropped, repeated, reordered and foreign events are detected #chain.verify.order", async () => {
  const other = new Scribe(counter(), "counter/other");
  await other.tell("add", {}, { start: null });
  await other.tell("add");
  const twin = new Scribe(counter(), "counter/c");
  await twin.tell("add", { by: 6 }, { start: null });
  await twin.tell("add");
  await twin.tell("add", {}, { full: true });
  for (let index = 0; index < chain.length; index += 1) {
    if (index < chain.length - 1) assert.equal(verify(chain.toSpliced(index, 1)).flaw?.code, "ORDER", `without ${index}`);
    assert.equal(verify(chain.toSpliced(index, 0, chain[index] ?? last)).flaw?.code, "ORDER", `doubled ${index}`);
    if (index > 0) {
      const swapped = chain.with(index, chain[index - 1] ?? last).with(index - 1, chain[index] ?? last);
      assert.equal(verify(swapped).flaw?.code, "ORDER", `swapped ${index}`);
      assert.equal(verify(chain.toSpliced(index, 0, ...other.events)).flaw?.code, "FOREIGN");
      const replaced = verify(chain.with(1, twin.events[1] ?? last));
      assert.equal(replaced.flaw?.code, "ORDER");
      assert.equal(replaced.flaw?.seq, 2);
    }
  }
  assert.equal(verify(chain, { actor: "counter/another" }).flaw?.code, "FOREIGN");
});

test("a body of another header, and a forged event with valid hashes, are detected #chain.verify.forged", () => {
  const [, second, third] = chain;
  assert.ok(second && third);
  assert.equal(verify(chain.with(1, { ...second, body: third.body ?? "" })).flaw?.code, "BODY_CHANGED");
  const { body: _, ...header } = readHeader(second);
  const forged = seal({ ...header, at: 5 }, readBody(second) ?? { message: null, version: 1, sent: [] });
  const { flaw } = verify(chain.with(1, forged));
  assert.deepEqual([flaw?.code, flaw?.seq], ["ORDER", 3]);
  const life = seal({ ...header, life: "elsewhere" }, readBody(second) ?? { message: null, version: 1, sent: [] });
  assert.equal(verify(chain.slice(0, 1).concat(life)).flaw?.code, "FOREIGN");
});

test("a header in another form is refused even if its hash is valid #chain.verify.forged", () => {
  const [first] = chain;
  assert.ok(first);
  const good = first.header;
  for (const text of [
    good.replace(',"at":', ', "at":'),
    good.replace('"seq":1', '"seq":1.0'),
    good.replace(/,"type":"[^"]*"/u, ',"type":"x","parent":"y"'),
    good.replace(/\}$/u, ',"body":"00"}'),
    good.replace('{"actor"', '{"seq":9,"actor"'),
    good.replace('"type":"add"', '"type":"a"dd"'),
    `${good}\n`,
    ` ${good}`,
    "null",
    "",
  ]) {
    const { flaw } = verify([{ id: sha256(text), header: text, body: first.body ?? "" }]);
    assert.ok(flaw?.code === "MALFORMED" || flaw?.code === "ORDER", `${flaw?.code} for ${text.slice(0, 80)}`);
  }
});

test("hostile texts are verified quickly", () => {
  const header = headerText({
    actor: "counter/c",
    life: "l",
    seq: 1,
    parent: null,
    at: 1,
    type: '\\"'.repeat(500_000),
    body: "0".repeat(64),
  });
  assert.equal(verify([{ id: sha256(header), header }]).flaw?.code, "ERASED");
  const endless = headerText({
    actor: "counter/c",
    life: "l",
    seq: 1,
    parent: null,
    at: 1,
    type: "a".repeat(500_000),
    body: "0".repeat(64),
  }).slice(0, -100);
  assert.equal(verify([{ id: sha256(endless), header: endless }]).flaw?.code, "MALFORMED");
  const open = header.slice(0, -80);
  assert.equal(verify([{ id: sha256(open), header: open }]).flaw?.code, "MALFORMED");
});

test("with a receipt, a rolled-back file and another history are detected #chain.verify.receipt", () => {
  const receipts = chain.map((event, index) => ({ actor: "counter/c", seq: index + 1, head: event.id }));
  assert.equal(verify(chain, { receipts }).flaw, undefined);
  const { flaw } = verify(chain.slice(0, 9), { receipts: receipts.slice(9, 10) });
  assert.deepEqual([flaw?.code, flaw?.seq], ["ROLLED_BACK", 9]);
  assert.equal(verify(chain.slice(0, 9), { receipts: receipts.slice(8, 9) }).flaw, undefined);
  assert.equal(verify(chain, { receipts: [{ actor: "counter/c", seq: 4, head: "0".repeat(64) }] }).flaw?.code, "OTHER_HISTORY");
  assert.equal(verify([], { actor: "counter/c", receipts: receipts.slice(0, 1) }).flaw?.code, "ROLLED_BACK");
  assert.equal(verify(chain, { receipts: [{ actor: "counter/x", seq: 4, head: last.id }] }).flaw?.code, "FOREIGN");
});

const row: Row = {
  uid: "u",
  life: readHeader(last).life,
  version: 1,
  createdAt: 1,
  lastMessageAt: 2,
  messageCount: 3,
  status: "live",
  wakes: {},
  pending: {},
};
const stored: Stored = { row, seq: 13, head: last.id, tail: chain.slice(11) };
const made = { messageId: "cp", at: 99_000, seed: "0".repeat(32) };

test("a checkpoint has the whole state and the head; bodies before it may be erased #chain.checkpoint", () => {
  const entry = checkpointEntry("counter/c", stored, made);
  assert.deepEqual([entry.after, entry.seq, entry.full, entry.row, entry.out], [last.id, 14, true, row, []]);
  const whole = [...chain.map(bare), entry.event];
  assert.equal(verify(whole).flaw, undefined);
  assert.deepEqual(stateFrom(whole), stateFrom(chain));
  assert.deepEqual(readBody(entry.event)?.message, {
    id: "cp",
    to: "counter/c",
    action: "checkpoint",
    args: { head: last.id },
    at: 99_000,
    seed: "0".repeat(32),
  });
});

test("a signed checkpoint proves head and state to anyone with the public key #chain.checkpoint", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const other = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const { event } = checkpointEntry("counter/c", stored, made, signingKey(pem));
  const good = verify([...chain, event], { publicKey });
  assert.deepEqual([good.flaw, good.signedSeq], [undefined, 14]);
  assert.equal(verify([...chain, event], { publicKey: other.publicKey }).flaw?.code, "SIGNATURE");
  assert.equal(verify([...chain, checkpointEntry("counter/c", stored, made).event], { publicKey }).flaw?.code, "SIGNATURE");
  const body = readBody(event);
  assert.ok(body?.state !== undefined);
  const forged = seal({ ...readHeader(event) }, { ...body, state: { n: 1_000_000, log: [] } });
  assert.equal(verify([...chain, forged], { publicKey }).flaw?.code, "SIGNATURE");
  assert.equal(verify([...chain, forged]).flaw, undefined);
  const unsigned = seal({ ...readHeader(event) }, { ...body, record: { signature: { key: 1, value: {} } } });
  assert.equal(verify([...chain, unsigned], { publicKey }).flaw?.code, "SIGNATURE");
  assert.throws(() => signingKey(generateKeyPairSync("x25519").privateKey), /Ed25519/u);
});

test("a fork is a chain of its own that names its origin and starts with its state #chain.fork", () => {
  const to: ActorId = "counter/what-if";
  const entry = forkEntry(chain.slice(0, 8), { to, origin: {}, life: "new-life", ...made });
  assert.equal(verify([entry.event], { actor: to }).flaw, undefined);
  const header = readHeader(entry.event);
  const origin = chain[7];
  assert.ok(origin);
  assert.deepEqual([header.type, header.cause, header.parent, header.seq], ["fork", origin.id, null, 1]);
  assert.deepEqual(Reflect.get(Object(readBody(entry.event)?.message), "args"), {
    actor: "counter/c",
    life: readHeader(origin).life,
    seq: 8,
    head: origin.id,
  });
  assert.deepEqual(stateFrom([entry.event]), stateFrom(chain.slice(0, 8)));
  assert.equal(entry.row.muted, true);
  assert.deepEqual(entry.out, []);
  assert.throws(() => forkEntry([], { to, origin: {}, life: "l", ...made }), { code: "STORE_CORRUPT" });
});

test("a truncated line is detected by verifying at the latest", () => {
  const line = exportLine(last);
  const cut = importLine(line.slice(0, -1));
  assert.equal(verify(chain.with(12, cut)).flaw?.code, "BODY_CHANGED");
});

test("an exported line is JSON and imports as the same event #chain.export", () => {
  for (const event of [...chain, bare(last)]) {
    const line = exportLine(event);
    assert.ok(!line.includes("\n"));
    const value: { id: string; header: unknown; body?: unknown } = JSON.parse(line);
    assert.equal(value.id, event.id);
    assert.deepEqual(value.header, JSON.parse(event.header));
    assert.deepEqual(importLine(line), event);
    assert.deepEqual(importLine(`${line}\n`), event);
  }
  const line = exportLine(last);
  for (const bad of [
    "",
    "{}",
    line.slice(1),
    line.slice(0, 90),
    line.replace(',"body":{', ',"bodies":{'),
    `${line}\n${line}`,
    line.replace('"id":"', '"id":"x'),
  ])
    assert.throws(() => importLine(bad), { code: "STORE_CORRUPT" }, bad.slice(0, 120));
});
