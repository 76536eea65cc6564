// README: calls that are on disk before they are answered, one caller and 64, beside bare SQLite statements that do the same work.
import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import { plain } from "./kinds/plain.ts";
import { callers, median } from "./load.ts";

const BURST_MS = 1_500;
const ROUNDS = 5;

/** The least that is as safe: an event row and an actor row in one transaction per group of `batch`, hashed. */
const bare = (path: string, batch: number): number => {
  const database = new DatabaseSync(path);
  database.exec(
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE IF NOT EXISTS actor(id INTEGER PRIMARY KEY, seq INTEGER, head TEXT); CREATE TABLE IF NOT EXISTS event(pos INTEGER PRIMARY KEY, actor INTEGER, seq INTEGER, prev INTEGER, hash TEXT, header TEXT, body TEXT)",
  );
  const insert = database.prepare("INSERT INTO event(actor, seq, prev, hash, header, body) VALUES (?, ?, ?, ?, ?, ?)");
  const update = database.prepare(
    "INSERT INTO actor(id, seq, head) VALUES (?, ?, ?) ON CONFLICT(id) DO UPDATE SET seq = excluded.seq, head = excluded.head",
  );
  const heads = Array.from({ length: batch }, () => "");
  const until = performance.now() + BURST_MS;
  let turns = 0;
  while (performance.now() < until) {
    database.exec("BEGIN");
    for (let id = 0; id < batch; id += 1) {
      const body = JSON.stringify({ message: { action: "add", args: {} }, state: { count: turns }, sent: [] });
      const header = JSON.stringify({
        actor: `plain/${id}`,
        seq: turns,
        parent: heads[id],
        at: Date.now(),
        type: "add",
        body: hash("sha256", body, "hex"),
      });
      const head = hash("sha256", header, "hex");
      heads[id] = head;
      insert.run(id, turns, turns, head, header, body);
      update.run(id, turns, head);
      turns += 1;
    }
    database.exec("COMMIT");
  }
  database.close();
  return turns / (BURST_MS / 1_000);
};

export const run = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  try {
    for (const count of [1, 64]) {
      await using store = sqliteStore({ directory: join(folder, `store-${count}`) });
      await using engine = await LocalEngine.start({ kinds: [plain("disk")], store });
      const ours: number[] = [];
      const theirs: number[] = [];
      const ratios: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const troupe = await callers(count, BURST_MS, (caller) =>
          engine.call({ to: `plain-disk/${caller}`, action: "add", args: {}, start: null }),
        );
        const floor = bare(join(folder, `bare-${count}-${round}.db`), count);
        ours.push(troupe);
        theirs.push(floor);
        ratios.push(troupe / floor);
      }
      console.log(
        `${String(count).padStart(3)} caller${count === 1 ? " " : "s"}  ${median(ours).toFixed(0)}/s durable, ${median(ratios).toFixed(2)} of bare SQLite statements (${median(theirs).toFixed(0)}/s)`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
