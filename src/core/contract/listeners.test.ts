import assert from "node:assert/strict";
import { Listeners } from "./listeners.ts";
import { test } from "node:test";

const tell = <T extends object>(listeners: Listeners<T>, run: (one: T) => void): void => {
  const list = listeners.list();
  for (const one of list) if (listeners.has(one, list)) run(one);
};

test("a notification reaches, in order, the listeners that were subscribed when it began and still are", () => {
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

test("a listener that re-subscribes as the same object is notified once", () => {
  const listeners = new Listeners<object>();
  const [one, other] = [{}, {}];
  listeners.add(one);
  listeners.add(other);
  const heard: object[] = [];
  tell(listeners, (listener) => {
    heard.push(listener);
    for (const all of [one, other]) {
      listeners.delete(all);
      listeners.add(all);
    }
  });
  assert.deepEqual(heard, [one, other]);
});

test("a listener that re-subscribes as a new object whenever notified is notified once", () => {
  const listeners = new Listeners<object>();
  let notifications = 0;
  const come = (): void => listeners.add({});
  come();
  for (const expected of [1, 2, 3]) {
    tell(listeners, (one) => {
      notifications += 1;
      listeners.delete(one);
      come();
    });
    assert.equal(notifications, expected);
  }
  assert.equal(listeners.none, false);
});
