// The least that is as safe as a turn on disk: the rows, texts and hashes of the store, and nothing else.
import { hash, randomUUID } from "node:crypto";
import { DatabaseSync, type StatementSync } from "node:sqlite";

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

/** The least that can be an index: a row for each actor, found by a value. */
const INDEX = (name: string): string => `
  CREATE TABLE ${name}(actor INTEGER PRIMARY KEY, key TEXT NOT NULL, data TEXT NOT NULL, value INTEGER NOT NULL);
  CREATE INDEX ${name}_value ON ${name}(value, key)`;

/** Turns of so many actors, by their place. Each changes its rows in so many `indexes`. */
export class BareTurns implements Disposable {
  readonly #database: DatabaseSync;
  readonly #event: StatementSync;
  readonly #actor: StatementSync;
  readonly #indexes: readonly StatementSync[];
  readonly #actors: { readonly id: string; readonly life: string; seq: number; head: string; pos: number }[];
  /** Who has acted in this transaction, and where its row still ends. */
  readonly #from = new Map<number, number>();
  #pos = 0;

  constructor(path: string, actors: number, indexes = 0) {
    this.#database = new DatabaseSync(path);
    this.#database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${TABLES}`);
    this.#event = this.#database.prepare("INSERT INTO event(pos, actor, seq, prev, back, far, id, header, body) VALUES(?,?,?,?,?,?,?,?,?)");
    this.#actor = this.#database.prepare(
      "UPDATE actor SET seq = ?, head = ?, pos = ?, full = ?, version = ?, seen = ?, count = ?, sum = ? WHERE id = ? AND pos = ?",
    );
    const begin = this.#database.prepare("INSERT INTO actor VALUES(?, 0, ?, 0, 0, 1, 0, 0, 0, NULL, ?, ?, ?, 'live', NULL, NULL, ?)");
    this.#database.exec("BEGIN");
    this.#indexes = Array.from({ length: indexes }, (_, n) => {
      const name = `index_${n}`;
      this.#database.exec(INDEX(name));
      const put = this.#database.prepare(`INSERT INTO ${name} VALUES(?, ?, ?, 0)`);
      for (let actor = 0; actor < actors; actor += 1) put.run(actor + 1, String(actor), JSON.stringify({ n: actor, severity: 0 }));
      return this.#database.prepare(`UPDATE ${name} SET data = ?, value = ? WHERE actor = ?`);
    });
    this.#actors = Array.from({ length: actors }, (_, n) => {
      const life = randomUUID();
      const head = hash("sha256", life, "hex");
      const rest = JSON.stringify({ life, createdAt: Date.now(), wakes: {}, pending: {} });
      begin.run(n + 1, head, "plain-disk", String(n), life, rest);
      return { id: `plain-disk/${n}`, life, seq: 0, head, pos: 0 };
    });
    this.#database.exec("COMMIT");
  }

  /** Turns a second of the actors at these places, each of them in every transaction. */
  turnsASecond(forMs: number, places: readonly number[] = [...this.#actors.keys()]): number {
    const started = performance.now();
    let turns = 0;
    for (const until = started + forMs; performance.now() < until; turns += places.length) this.commit(places);
    return (turns * 1_000) / (performance.now() - started);
  }

  /** One turn for each of these places, in one transaction that is on disk when this returns. An actor's row is written once, whatever it did. */
  commit(places: Iterable<number>): void {
    this.#database.exec("BEGIN IMMEDIATE");
    for (const place of places) this.#turn(place);
    for (const [place, from] of this.#from) this.#row(place, from);
    this.#from.clear();
    this.#database.exec("COMMIT");
  }

  #turn(index: number): void {
    const actor = this.#actors[index];
    if (actor === undefined) throw new Error(`There is no actor ${index}.`);
    const { id, life, head: parent, pos: prev } = actor;
    const at = Date.now();
    const pos = (this.#pos += 1);
    const seq = (actor.seq += 1);
    const message = { id: drawn(pos), to: id, action: "add", args: {}, at, seed: drawn(pos), start: null };
    const body = JSON.stringify({ message, patch: { count: [seq] }, version: 1, sent: [], reply: { ok: seq } });
    const header = JSON.stringify({ actor: id, life, seq, parent, at, type: "add", body: hash("sha256", body, "hex") });
    const head = hash("sha256", header, "hex");
    this.#event.run(pos, index + 1, seq, prev, seq - (seq % 64), null, head, header, body);
    for (const update of this.#indexes) update.run(JSON.stringify({ n: index, severity: seq % 5 }), seq % 5, index + 1);
    if (!this.#from.has(index)) this.#from.set(index, prev);
    actor.head = head;
    actor.pos = pos;
  }

  #row(index: number, from: number): void {
    const actor = this.#actors[index];
    if (actor === undefined) return;
    const { seq, head, pos } = actor;
    this.#actor.run(seq, head, pos, 1, 1, Date.now(), seq, pos, index + 1, from);
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
