// The minimal durable turn: writes the rows, texts and hashes of the store, and nothing else.
import { hash, randomUUID } from "node:crypto";
import { DatabaseSync, type StatementSync } from "node:sqlite";

// Tables with rows as wide as those of the store, and with the same indexes.
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

/** An id of the length of a random one. Generating random ids is the engine's own work. */
const idOf = (n: number): string => n.toString(16).padStart(32, "0");

/** The minimal index: a row for each actor, with an index on its value. */
const INDEX = (name: string): string => `
  CREATE TABLE ${name}(actor INTEGER PRIMARY KEY, key TEXT NOT NULL, data TEXT NOT NULL, value INTEGER NOT NULL);
  CREATE INDEX ${name}_value ON ${name}(value, key)`;

/** Turns of `actors` actors, which are named by their number. Each turn updates a row in each of `indexes` indexes. */
export class BareTurns implements Disposable {
  readonly #database: DatabaseSync;
  readonly #event: StatementSync;
  readonly #actor: StatementSync;
  readonly #indexes: readonly StatementSync[];
  readonly #actors: { readonly id: string; readonly life: string; seq: number; head: string; pos: number }[];
  /** The actors with a turn in this transaction, and the position of their last event before it. */
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

  /** Turns per second. Each transaction has a turn of each of these actors. */
  turnsASecond(forMs: number, places: readonly number[] = [...this.#actors.keys()]): number {
    const started = performance.now();
    let turns = 0;
    for (const until = started + forMs; performance.now() < until; turns += places.length) this.commit(places);
    return (turns * 1_000) / (performance.now() - started);
  }

  /** Runs one turn for each entry in one transaction, which is on disk on return. Writes the row of each actor once. */
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
    const message = { id: idOf(pos), to: id, action: "add", args: {}, at, seed: idOf(pos), start: null };
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
