import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { registry } from "../../source/index.ts";
import type { Call } from "../call.ts";
import { channelDouble } from "../kit.fixture.ts";
import { Task } from "../task.ts";
import { TaskNotices } from "./listen.ts";

const call: Call = {
  method: "tools/call",
  params: {},
  id: 1,
  revision: "2026-07-28",
  viewer: { principal: "ann", scopes: [] },
  source: registry({}),
  listMode: "static",
  options: { can: [] },
  checkArguments: undefined,
  onListed: undefined,
};

/** A task that counts its watchers. */
class Heard extends Task {
  listeners = 0;

  override watch(watcher: () => void): () => void {
    const undo = super.watch(watcher);
    this.listeners += 1;
    return () => {
      this.listeners -= 1;
      undo();
    };
  }
}

const taskOf = (id: string): Heard => new Heard({ id, call, scopes: [], now: () => 0, ttlMs: 1_000 });

describe("C8 a stream's notifications of tasks", () => {
  test("end with each task, which is then released", () => {
    const channel = channelDouble();
    const [one, over] = [taskOf("one"), taskOf("over")];
    over.cancel();
    const notices = new TaskNotices(channel, [one, over], ({ id }) => JSON.stringify({ id }));
    assert.deepEqual([one.listeners, over.listeners], [1, 0]);
    one.cancel();
    assert.equal(one.listeners, 0);
    assert.deepEqual(channel.messages, [{ id: "one" }, { id: "over" }, { id: "one" }]);
    notices.stop();
  });

  test("end with a stream that cannot be written to", () => {
    let sent = 0;
    const send = (): void => {
      sent += 1;
      throw new Error("It is closed.");
    };
    const channel = Object.assign(channelDouble(), { send });
    const tasks = [taskOf("one"), taskOf("two")];
    const notices = new TaskNotices(channel, tasks, ({ id }) => id);
    tasks[1]?.cancel();
    assert.deepEqual([sent, ...tasks.map(({ listeners }) => listeners)], [1, 0, 0]);
    notices.stop();
    assert.equal(sent, 1);
  });
});
