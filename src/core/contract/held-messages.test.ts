import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Caller } from "./door.ts";
import { HeldMessages, isHeavy } from "./held-messages.ts";

const ada = { principal: "ada", scopes: [] };
const bob = { principal: "bob", scopes: [] };
const full = (): Error => new RangeError("full");
const text = (length: number): string => JSON.stringify("x".repeat(length - 2));

/** Runs until it is told to end. */
function held(messages: HeldMessages, message: string | Uint8Array, caller: Caller = ada): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const during = messages.during(message, caller, () => promise);
  return async () => {
    resolve();
    await during;
  };
}

describe("messages that are being worked on", () => {
  it("have half of the room for one caller, and together all of it", async () => {
    const messages = new HeldMessages(40_000, full);
    const ends = [held(messages, text(10_000)), held(messages, text(10_000))];
    assert.throws(() => held(messages, text(5_000)), RangeError);
    ends.push(held(messages, text(15_000), bob));
    assert.throws(() => held(messages, text(10_000), { principal: "eve", scopes: [] }), RangeError);
    for (const end of ends) await end();
    for (const caller of [ada, bob]) await held(messages, text(20_000), caller)();
  });

  it("are let go when they end at once, fail at once or fail later", async () => {
    const messages = new HeldMessages(10_000, full);
    const broken = (): never => {
      throw new TypeError("broken");
    };
    for (let round = 0; round < 5; round += 1) {
      assert.equal(
        messages.during(text(5_000), ada, () => round),
        round,
      );
      assert.throws(() => messages.during(text(5_000), ada, broken), TypeError);
      await assert.rejects(async () => messages.during(text(5_000), ada, async () => broken()), TypeError);
    }
  });

  it("are told apart by where they come from, where nobody says who it is", async () => {
    const messages = new HeldMessages(20_000, full);
    const here = { peer: "192.0.2.1", scopes: [] };
    const end = held(messages, text(10_000), here);
    assert.throws(() => held(messages, text(5_000), here), RangeError);
    await held(messages, text(5_000), { peer: "192.0.2.2", scopes: [] })();
    await end();
  });

  it("may be longer than all the room, one at a time", async () => {
    const messages = new HeldMessages(1_000, full);
    const end = held(messages, text(5_000));
    assert.throws(() => held(messages, text(5_000), bob), RangeError);
    await end();
    await held(messages, text(5_000), bob)();
  });

  it("count for what they take once they are read, whatever their texts say", async () => {
    const many = JSON.stringify({ junk: Array.from({ length: 2_000 }, () => ({})) });
    const quoted = JSON.stringify({ text: `\\"${"[{,".repeat(2_000)}"` });
    for (const one of [many, Buffer.from(many)]) {
      const messages = new HeldMessages(200_000, full);
      const end = held(messages, one);
      assert.throws(() => held(messages, text(5_000)), RangeError);
      await end();
    }
    const messages = new HeldMessages(200_000, full);
    const ends = Array.from({ length: 10 }, () => held(messages, quoted));
    for (const end of ends) await end();
  });

  it("are those that are long", () => {
    assert.equal(isHeavy(text(4_096)), false);
    assert.equal(isHeavy(Buffer.from(text(4_097))), true);
  });
});
