/**
 * A server that a test kills: eight actors take turns that send messages to a ninth, and each acknowledgement is printed at once.
 * Arguments: directory, and `hold` to only hold the lock.
 */
import { writeSync } from "node:fs";
import { sqliteStore } from "./index.ts";
import { ChainWriter, messageTo } from "../../testing/conformance/index.ts";
import type { ActorId, Store } from "../contract/index.ts";

const [directory = "", mode = "work"] = process.argv.slice(2);
const say = (line: string): void => void writeSync(1, `${line}\n`);

/** A writer that continues the stored chain. */
async function resume(store: Store, id: ActorId): Promise<ChainWriter> {
  const writer = new ChainWriter(id);
  const stored = await store.load(id);
  if (stored) {
    writer.seq = stored.seq;
    writer.head = stored.head;
  }
  return writer;
}

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const failed = (error: unknown): never => {
  say(`fail ${String(error)}`);
  process.exit(3);
};

/** `delay`: how many rounds of the event loop it waits after each turn, while the batch of the others is open. */
async function work(store: Store, id: ActorId, next: ActorId, delay: number): Promise<void> {
  const writer = await resume(store, id);
  let waiting: Promise<unknown> = Promise.resolve();
  for (let turn = 0; ; turn += 1) {
    const entry = writer.next({ out: turn % 7 === 0 ? [messageTo(next, `${id}.${writer.seq + 1}.0`)] : [] });
    const commit = store.commit(id, entry).then(() => say(`ack ${id} ${entry.seq} ${entry.event.id}`), failed);
    // Up to four turns are uncommitted, as with a busy actor.
    if (turn % 4 === 3) await waiting;
    waiting = commit;
    for (let rounds = 0; rounds < delay; rounds += 1) await round();
  }
}

async function consume(store: Store): Promise<void> {
  for (;;) {
    for (const { message } of await store.undelivered(20)) {
      if (message.to !== "purse/p") continue;
      const purse = await resume(store, message.to);
      await store.commit(message.to, purse.next({ consumed: message.id, state: message.id }));
      say(`took ${message.id}`);
    }
    await round();
  }
}

const store = sqliteStore({ directory });
say("ready");
if (mode === "hold") setInterval(() => undefined, 1_000);
else
  await Promise.all([
    ...Array.from({ length: 8 }, (_, index) => work(store, `door/${index}`, "purse/p", index % 3)),
    consume(store).catch(failed),
  ]);
