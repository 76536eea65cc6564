import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Mailbox } from "./mailbox.ts";

test("a mailbox is first in first out, urgent items first, and retains no removed items", () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("add" as const), item: fc.nat() }),
    fc.record({ do: fc.constant("urgent" as const), item: fc.nat() }),
    fc.record({ do: fc.constant("shift" as const), item: fc.constant(0) }),
    fc.record({ do: fc.constant("remove" as const), item: fc.nat(20) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const mailbox = new Mailbox<{ item: number }>();
      const model: { item: number }[] = [];
      for (const { do: what, item } of steps) {
        const letter = { item };
        if (what === "add") {
          mailbox.add(letter);
          model.push(letter);
        } else if (what === "urgent") {
          mailbox.addUrgent(letter);
          model.unshift(letter);
        } else if (what === "shift") assert.equal(mailbox.shift(), model.shift());
        else {
          const some = model[item];
          if (some === undefined) continue;
          assert.equal(mailbox.remove(some), true);
          model.splice(item, 1);
        }
        assert.equal(mailbox.length, model.length);
        assert.equal(mailbox.peek(), model[0]);
      }
      assert.deepEqual(mailbox.drain(), model);
      assert.equal(mailbox.length, 0);
    }),
  );
});

test("shifting a mailbox takes constant time", () => {
  const mailbox = new Mailbox<number>();
  for (let item = 0; item < 50_000; item += 1) mailbox.add(item);
  for (let item = 0; item < 50_000; item += 1) assert.equal(mailbox.shift(), item);
  assert.equal(mailbox.shift(), undefined);
});
