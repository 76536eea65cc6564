import assert from "node:assert/strict";
import { Listeners } from "./listeners.ts";
import { test } from "node:test";

const tell = <T extends object>(listeners: Listeners<T>, run: (one: T) => void): void => {
  const list = listeners.list();
  for (const one of list) if (listeners.has(one, list)) run(one);
};

test("a telling meets those who were there when it began and have not left since, in the order they came", () => {
  const listeners = new Listeners<{ readonly name: string }>();
  const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }];
  listeners.add(a);
  listeners.add(b);
  const heard: string[] = [];
  tell(listeners, ({ name }) => {
    heard.push(name);
    listeners.delete(b);
    listeners.add(c);
  });
  assert.deepEqual(heard, ["a"]);
  tell(listeners, ({ name }) => void heard.push(name));
  assert.deepEqual(heard, ["a", "a", "c"]);
});

test("one that comes back as itself is told once a telling, too", () => {
  const listeners = new Listeners<object>();
  const [one, other] = [{}, {}];
  listeners.add(one);
  listeners.add(other);
  const heard: object[] = [];
  tell(listeners, (told) => {
    heard.push(told);
    for (const all of [one, other]) {
      listeners.delete(all);
      listeners.add(all);
    }
  });
  assert.deepEqual(heard, [one, other]);
});

test("one that leaves and comes back whenever it is told is told once a telling", () => {
  const listeners = new Listeners<object>();
  let told = 0;
  const come = (): void => listeners.add({});
  come();
  for (const expected of [1, 2, 3]) {
    tell(listeners, (one) => {
      told += 1;
      listeners.delete(one);
      come();
    });
    assert.equal(told, expected);
  }
  assert.equal(listeners.none, false);
});
