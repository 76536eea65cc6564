// README: calls that are on disk before they are answered, one caller and 64, beside bare SQLite statements that do the same work.
import { hash, randomUUID } from "node:crypto";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { join } from "node:path";
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import type { Asked } from "./asked.ts";
import { plain } from "./kinds/plain.ts";
import { temporaryFolder } from "./leftovers.ts";
import { callers } from "./load.ts";
import { times } from "./statistics.ts";
import { print, rounds } from "./table.ts";

// What the store's own tables have: rows as wide as its rows, indexes where it has them.
const TABLES = `
  CREATE TABLE actor(
    id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, head TEXT NOT NULL, pos INTEGER NOT NULL, full INTEGER NOT NULL,
    version INTEGER NOT NULL, seen INTEGER NOT NULL, count INTEGER NOT NULL, sum INTEGER NOT NULL, due INTEGER,
    kind TEXT NOT NULL, key TEXT NOT NULL, uid TEXT NOT NULL, status TEXT NOT NULL, owner TEXT, parent TEXT, rest TEXT NOT NULL);
  CREATE UNIQUE INDEX actor_name ON actor(kind, key);
  CREATE UNIQUE INDEX actor_uid ON actor(uid);
  CREATE TABLE event(
    pos INTEGER PRIMARY KEY, actor INTEGER NOT NULL, seq INTEGER NOT NULL, prev INTEGER, back INTEGER, far INTEGER,
    id TEXT NOT NULL, header TEXT NOT NULL, body TEXT)`;

/** As long as what an engine draws; to draw it is the engine's own work. */
const drawn = (n: number): string => n.toString(16).padStart(32, "0");

/** The least that is as safe: an event row and an actor row for each turn, `batch` turns in a transaction, the same texts built and hashed. */
class Bare implements Disposable {
  readonly #database: DatabaseSync;
  readonly #event: StatementSync;
  readonly #actor: StatementSync;
  readonly #actors: { readonly id: string; readonly life: string; seq: number; head: string; pos: number }[];
  #pos = 0;

  constructor(path: string, batch: number) {
    this.#database = new DatabaseSync(path);
    this.#database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${TABLES}`);
    this.#event = this.#database.prepare("INSERT INTO event(pos, actor, seq, prev, back, far, id, header, body) VALUES(?,?,?,?,?,?,?,?,?)");
    this.#actor = this.#database.prepare(
      "UPDATE actor SET seq = ?, head = ?, pos = ?, full = ?, version = ?, seen = ?, count = ?, sum = ? WHERE id = ? AND pos = ?",
    );
    const begin = this.#database.prepare("INSERT INTO actor VALUES(?, 0, ?, 0, 0, 1, 0, 0, 0, NULL, ?, ?, ?, 'live', NULL, NULL, ?)");
    this.#actors = Array.from({ length: batch }, (_, n) => {
      const life = randomUUID();
      const head = hash("sha256", life, "hex");
      const rest = JSON.stringify({ life, createdAt: Date.now(), wakes: {}, pending: {} });
      begin.run(n + 1, head, "plain-disk", String(n), life, rest);
      return { id: `plain-disk/${n}`, life, seq: 0, head, pos: 0 };
    });
  }

  /** Turns a second. */
  burst(forMs: number): number {
    const from = this.#pos;
    const started = performance.now();
    const until = started + forMs;
    while (performance.now() < until) {
      this.#database.exec("BEGIN IMMEDIATE");
      this.#actors.forEach((_, index) => this.#turn(index));
      this.#database.exec("COMMIT");
    }
    return ((this.#pos - from) * 1_000) / (performance.now() - started);
  }

  #turn(index: number): void {
    const actor = this.#actors[index];
    if (actor === undefined) return;
    const { id, life, head: parent, pos: prev } = actor;
    const at = Date.now();
    const pos = (this.#pos += 1);
    const seq = (actor.seq += 1);
    const message = { id: drawn(pos), to: id, action: "add", args: {}, at, seed: drawn(pos), start: null };
    const body = JSON.stringify({ message, patch: { count: [seq] }, version: 1, sent: [], reply: { ok: seq } });
    const header = JSON.stringify({ actor: id, life, seq, parent, at, type: "add", body: hash("sha256", body, "hex") });
    const head = hash("sha256", header, "hex");
    this.#event.run(pos, index + 1, seq, prev, seq - (seq % 64), null, head, header, body);
    this.#actor.run(seq, head, pos, 1, 1, at, seq, pos, index + 1, prev);
    actor.head = head;
    actor.pos = pos;
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

export const run = async ({ quick }: Asked): Promise<void> => {
  using folder = temporaryFolder();
  for (const [count, least] of [
    [1, 0.6],
    [64, 0.75],
  ] as const) {
    await using store = sqliteStore({ directory: join(folder.path, `store-${count}`) });
    await using engine = await LocalEngine.start({ kinds: [plain("disk")], store });
    using bare = new Bare(join(folder.path, `bare-${count}.db`), count);
    const burstMs = quick ? 300 : 1_500;
    const [ours = [], floor = []] = await rounds(
      quick ? 3 : 5,
      () => callers(count, burstMs, (caller) => engine.call({ to: `plain-disk/${caller}`, action: "add", args: {}, start: null })),
      () => bare.burst(burstMs),
    );
    const what = `calls on disk before they are answered, ${count} caller${count === 1 ? "" : "s"}`;
    print({ what: `${what}, of the same statements bare`, measured: times(ours, floor), unit: "×", least });
    print({ what, measured: ours, unit: "/s" });
  }
};
