// Owns: finding events by id and by cause. Does not own: the events (event-table.ts).

import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { ChainEvent } from "../contract/index.ts";
import { checkEvent, eventIn } from "./event-table.ts";
import { int, text } from "./columns.ts";
import type { GroupCommit } from "./group-commit.ts";
import { causeOf, MAX_EFFECTS } from "./rules.ts";

/** Events indexed in one transaction. */
const CHUNK = 2_000;
/** Events that may share a short hash. */
const MAX_ALIKE = 16;
// 48 bits, which a number holds exactly. Ids that share them are distinguished by the whole id.
const shortHash = (id: string): number => Number.parseInt(id.slice(0, 12), 16);
const isEventId = (id: string): boolean => /^[0-9a-f]{64}$/u.test(id);

const BY_HASH = "SELECT e.id, e.header, e.body FROM seek s JOIN event e ON e.pos = s.pos WHERE s.hash = ?";

const statements = (database: DatabaseSync) => ({
  indexed: database.prepare("SELECT value FROM meta WHERE name = 'indexed'"),
  setIndexed: database.prepare("UPDATE meta SET value = ? WHERE name = 'indexed'"),
  last: database.prepare("SELECT max(pos) AS pos FROM event"),
  next: database.prepare("SELECT pos, id, header FROM event WHERE pos > ? ORDER BY pos LIMIT ?"),
  insert: database.prepare("INSERT INTO seek VALUES(?, ?) ON CONFLICT DO NOTHING"),
  delete: database.prepare("DELETE FROM seek WHERE hash = ? AND pos = ?"),
  byHash: database.prepare(`${BY_HASH} ORDER BY e.pos LIMIT ?`),
  byId: database.prepare(`${BY_HASH} AND e.id = ? ORDER BY s.pos LIMIT 1`),
  scanCause: database.prepare("SELECT id, header, body FROM event WHERE pos > ? AND instr(header, ?) > 0 ORDER BY pos LIMIT ?"),
  scanId: database.prepare("SELECT id, header, body FROM event WHERE pos > ? AND id = ? LIMIT 1"),
});

/**
 * Ids are random, so an index updated with every commit would touch a page of its own for each event. This one is brought up to date when a
 * caller looks an event up, in short transactions between which others write.
 */
export class EventIndex {
  readonly #commits: GroupCommit | undefined;
  readonly #sql: ReturnType<typeof statements>;
  #building: Promise<void> | undefined;

  /** Without `commits` nothing is written, and events that are not indexed yet are found by a scan. */
  constructor(database: DatabaseSync, commits?: GroupCommit) {
    this.#sql = statements(database);
    this.#commits = commits;
  }

  /** Selected by the whole id, since actors are imported one by one and an event may then follow thousands that it caused. */
  async event(id: string): Promise<ChainEvent | undefined> {
    if (!isEventId(id)) return undefined;
    await this.#upToDate();
    const columns = this.#sql.byId.get(shortHash(id), id) ?? (this.#commits ? undefined : this.#sql.scanId.get(this.#indexedTo(), id));
    if (columns) return checkedEvent(columns);
    // An event whose id was changed in the file is not found by it: checking those of the same hash reports it.
    this.#sql.byHash.all(shortHash(id), MAX_ALIKE).forEach(checkedEvent);
    return undefined;
  }

  async caused(id: string): Promise<readonly ChainEvent[]> {
    if (!isEventId(id)) return [];
    await this.#upToDate();
    const rows = this.#sql.byHash.all(shortHash(id), MAX_EFFECTS + MAX_ALIKE);
    if (!this.#commits) rows.push(...this.#sql.scanCause.all(this.#indexedTo(), `,"cause":"${id}"`, MAX_EFFECTS));
    return rows
      .map(checkedEvent)
      .filter((event) => causeOf(event.header) === id)
      .slice(0, MAX_EFFECTS);
  }

  /** In the transaction that removes an event. */
  remove(pos: number, id: string, header: string): void {
    const cause = causeOf(header);
    this.#sql.delete.run(shortHash(id), pos);
    if (cause !== undefined) this.#sql.delete.run(shortHash(cause), pos);
  }

  /** The place up to which events are indexed. */
  #indexedTo(): number {
    return int(this.#sql.indexed.get()?.["value"]);
  }

  async #upToDate(): Promise<void> {
    if (this.#commits) await (this.#building ??= this.#build(this.#commits).finally(() => (this.#building = undefined)));
  }

  async #build(commits: GroupCommit): Promise<void> {
    const last = Number(this.#sql.last.get()?.["pos"] ?? 0);
    let indexed = this.#indexedTo();
    while (indexed < last) {
      const from = indexed;
      // Undefined where the rest was removed meanwhile.
      indexed = (await commits.add(() => this.#indexChunk(from))) ?? last;
    }
  }

  /** Returns the place it got to. Undefined: there are no events behind `from`. */
  #indexChunk(from: number): number | undefined {
    const entries: (readonly [hash: number, pos: number])[] = [];
    let indexed: number | undefined;
    for (const columns of this.#sql.next.all(from, CHUNK)) {
      const pos = int(columns["pos"]);
      const cause = causeOf(text(columns["header"]));
      entries.push([shortHash(text(columns["id"])), pos]);
      if (cause !== undefined) entries.push([shortHash(cause), pos]);
      indexed = pos;
    }
    // Ascending, so that entries which share a page are written together.
    for (const [hash, pos] of entries.toSorted((a, b) => a[0] - b[0])) this.#sql.insert.run(hash, pos);
    if (indexed !== undefined) this.#sql.setIndexed.run(indexed);
    return indexed;
  }
}

function checkedEvent(columns: Record<string, SQLOutputValue>): ChainEvent {
  const event = eventIn(columns);
  checkEvent(event);
  return event;
}
