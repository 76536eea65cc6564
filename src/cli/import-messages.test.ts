import assert from "node:assert/strict";
import { test } from "node:test";
import type { Importer, Message, Viewer } from "../core/contract/index.ts";
import { ImportMessages } from "./import-messages.ts";

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

test("messages are counted by whom they act as, a bounded number of viewers", async (context) => {
  const said: string[] = [];
  context.mock.method(process.stderr, "write", (text: string) => said.push(text) > 0);
  const found = new ImportMessages();
  const taken: Message[] = [];
  const place = found.into(placeOf(taken), false);
  const admin: Viewer = { principal: "ann\u001b[2J", scopes: ["admin", "b"] };
  await place.message({ message: message(admin), failures: 0 });
  await place.letter({ message: message(admin), why: "no", at: 1 });
  await place.message({ message: message(), failures: 0 });
  found.report(false, false);
  assert.match(said.join(""), /^Messages of it run .*: 2 messages as ann\\u001b\[2J with admin b; 1 message as nobody\.\n$/);
  assert.equal(taken.length, 3);
  for (let index = 0; index < 200; index += 1)
    await place.message({ message: message({ principal: `p${index}`, scopes: [] }), failures: 0 });
  said.length = 0;
  found.report(false, true);
  const { runs, others }: { runs: unknown[]; others: number } = JSON.parse(said.join(""));
  assert.deepEqual([runs.length, others], [100, 102]);
});

test("messages that are left out get nowhere", async () => {
  const found = new ImportMessages();
  const taken: Message[] = [];
  const place = found.into(placeOf(taken), true);
  assert.equal(await place.message({ message: message(), failures: 0 }), true);
  assert.equal(await place.letter({ message: message(), why: "no", at: 1 }), true);
  assert.deepEqual(taken, []);
});
