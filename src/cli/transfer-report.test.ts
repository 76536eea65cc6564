import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExportedActor, Importer, Message, Row, Viewer } from "../core/contract/index.ts";
import { MessageViewers } from "./transfer-report.ts";

const message = (viewer?: Viewer): Message => ({
  id: "a.1",
  to: "box/a",
  action: "open",
  args: null,
  at: 1,
  seed: "00",
  ...(viewer === undefined ? {} : { viewer }),
});

const placeOf = (taken: Message[]): Importer => ({
  actor: async () => undefined,
  message: async (undelivered) => taken.push(undelivered.message) > 0,
  letter: async (letter) => taken.push(letter.message) > 0,
  flush: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
});

test("messages are counted by viewer, for a bounded number of viewers", async (context) => {
  const written: string[] = [];
  context.mock.method(process.stderr, "write", (text: string) => written.push(text) > 0);
  const found = new MessageViewers();
  const taken: Message[] = [];
  const place = found.into(placeOf(taken), false);
  const admin: Viewer = { principal: "ann\u001b[2J", scopes: ["admin", "b"] };
  await place.message({ message: message(admin), failures: 0 });
  await place.letter({ message: message(admin), why: "no", at: 1 });
  await place.message({ message: message(), failures: 0 });
  found.report(false, false);
  assert.match(written.join(""), /^Messages of it run .*: 2 messages as ann\\u001b\[2J with admin b; 1 message as nobody\.\n$/);
  assert.equal(taken.length, 3);
  for (let index = 0; index < 200; index += 1)
    await place.message({ message: message({ principal: `p${index}`, scopes: [] }), failures: 0 });
  written.length = 0;
  found.report(false, true);
  const { runs, others }: { runs: unknown[]; others: number } = JSON.parse(written.join(""));
  assert.deepEqual([runs.length, others], [100, 102]);
});

test("a reply counts as the viewer in its context, wherever a file can name one, and with its roles", async (context) => {
  const written: string[] = [];
  context.mock.method(process.stderr, "write", (text: string) => written.push(text) > 0);
  const viewer = { principal: "admin", scopes: ["vault"], rolesByKind: { vault: ["manager"] } };
  const replyContext = { call: "c.1", path: ["hub/a next"], handler: "next", viewer };
  const row: Row = {
    uid: "u",
    life: "u",
    version: 1,
    createdAt: 0,
    lastMessageAt: 0,
    messageCount: 1,
    status: "live",
    wakes: {},
    pending: { q: { from: "hub/a", replyAs: "troupe/reply", replyContext } },
  };
  const actor: ExportedActor = { id: "box/a", seq: 1, head: "h", row };
  const found = new MessageViewers();
  const rows: Row[] = [];
  const place: Importer = { ...placeOf([]), actor: async (one) => void rows.push(one.row) };
  await found.into(place, false).actor(actor);
  const reply = { ...message(), action: "troupe/reply", args: { of: "m", reply: { ok: 1 }, context: replyContext } };
  await found.into(place, false).message({ message: reply, failures: 0 });
  await found.into(place, false).message({ message: { ...message(), replyAs: "troupe/reply", replyContext }, failures: 0 });
  found.report(false, false);
  assert.match(written.join(""), /: 3 messages as admin with vault in the roles vault\/manager; 1 message as nobody\.\n$/);
  await found.into(place, true).actor(actor);
  assert.deepEqual(
    rows.map(({ pending }) => Object.keys(pending)),
    [["q"], []],
  );
});

test("messages that are left out are not imported", async () => {
  const found = new MessageViewers();
  const taken: Message[] = [];
  const place = found.into(placeOf(taken), true);
  assert.equal(await place.message({ message: message(), failures: 0 }), true);
  assert.equal(await place.letter({ message: message(), why: "no", at: 1 }), true);
  assert.deepEqual(taken, []);
});
