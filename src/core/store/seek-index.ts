import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { ChainEvent } from "../contract/index.ts";
import { int, text } from "./column.ts";
import type { GroupCommit } from "./group-commit.ts";
import { checkEvent, readEvent } from "./history.ts";

const CHUNK = 2_000;
const MOST_EFFECTS = 1_000;
const MOST_ALIKE = 16;
// 48 bits: exact as a number. What shares them is told apart by the id itself.
const short = (id: string): number => Number.parseInt(id.slice(0, 12), 16);
const isEventId = (id: string): boolean => /^[0-9a-f]{64}$/u.test(id);

/** Unescaped quotes cannot occur inside a JSON string: this is the key, never a value that looks like it. */
const causeOf = (header: string): string | undefined => /,"cause":"([0-9a-f]{64})",/u.exec(header)?.[1];

/**
 * Events by id and by cause. Ids are random, so an index kept with every commit would
 * touch a page of its own for each event; this one is brought up to date when someone
 * asks, in short transactions between which others write.
 */
export class SeekIndex {
  readonly #commits: GroupCommit | undefined;
  readonly #indexed: StatementSync;
  readonly #setIndexed: StatementSync;
  readonly #last: StatementSync;
  readonly #next: StatementSync;
  readonly #insert: StatementSync;
  readonly #found: StatementSync;
  readonly #scan: StatementSync;
  readonly #own: StatementSync;
  readonly #scanOwn: StatementSync;
  readonly #drop: StatementSync;
  #building: Promise<void> | undefined;

  /** Without `commits` nothing is written: what is not indexed yet is scanned. */
  constructor(database: DatabaseSync, commits?: GroupCommit) {
    this.#commits = commits;
    this.#indexed = database.prepare("SELECT value FROM meta WHERE name = 'indexed'");
    this.#setIndexed = database.prepare("UPDATE meta SET value = ? WHERE name = 'indexed'");
    this.#last = database.prepare("SELECT max(pos) AS pos FROM event");
    this.#next = database.prepare("SELECT pos, id, header FROM event WHERE pos > ? ORDER BY pos LIMIT ?");
    this.#insert = database.prepare("INSERT INTO seek VALUES(?, ?) ON CONFLICT DO NOTHING");
    this.#found = database.prepare(
      "SELECT e.id, e.header, e.body FROM seek s JOIN event e ON e.pos = s.pos WHERE s.hash = ? ORDER BY e.pos LIMIT ?",
    );
    this.#scan = database.prepare("SELECT id, header, body FROM event WHERE pos > ? AND instr(header, ?) > 0 ORDER BY pos LIMIT ?");
    this.#own = database.prepare(
      "SELECT e.id, e.header, e.body FROM seek s JOIN event e ON e.pos = s.pos WHERE s.hash = ? AND e.id = ? ORDER BY s.pos LIMIT 1",
    );
    this.#drop = database.prepare("DELETE FROM seek WHERE hash = ? AND pos = ?");
    this.#scanOwn = database.prepare("SELECT id, header, body FROM event WHERE pos > ? AND id = ? LIMIT 1");
  }

  /** By its own id: where actors were imported, one by one, an event may lie behind all it caused. */
  async event(id: string): Promise<ChainEvent | undefined> {
    if (!isEventId(id)) return undefined;
    await this.#upToDate();
    const columns =
      this.#own.get(short(id), id) ?? (this.#commits ? undefined : this.#scanOwn.get(int(this.#indexed.get()?.["value"]), id));
    if (columns) return checkedEvent(columns);
    // One whose id was changed in the file is not found by it: it is told of rather than missed.
    this.#found.all(short(id), MOST_ALIKE).forEach(checkedEvent);
    return undefined;
  }

  async caused(id: string): Promise<readonly ChainEvent[]> {
    if (!isEventId(id)) return [];
    await this.#upToDate();
    const rows = this.#found.all(short(id), MOST_EFFECTS + MOST_ALIKE);
    if (!this.#commits) rows.push(...this.#scan.all(int(this.#indexed.get()?.["value"]), `,"cause":"${id}"`, MOST_EFFECTS));
    return rows
      .map(checkedEvent)
      .filter((event) => causeOf(event.header) === id)
      .slice(0, MOST_EFFECTS);
  }

  /** Within the transaction that removes an event. */
  drop(pos: number, id: string, header: string): void {
    const cause = causeOf(header);
    this.#drop.run(short(id), pos);
    if (cause !== undefined) this.#drop.run(short(cause), pos);
  }

  async #upToDate(): Promise<void> {
    if (this.#commits) await (this.#building ??= this.#build(this.#commits).finally(() => (this.#building = undefined)));
  }

  async #build(commits: GroupCommit): Promise<void> {
    const last = Number(this.#last.get()?.["pos"] ?? 0);
    let indexed = int(this.#indexed.get()?.["value"]);
    while (indexed < last) {
      const from = indexed;
      // Those up to there may have been removed meanwhile.
      indexed = (await commits.add(() => this.#chunk(from))) ?? last;
    }
  }

  /** The place it got to. Undefined: there are none after that one. */
  #chunk(from: number): number | undefined {
    const entries: (readonly [hash: number, pos: number])[] = [];
    let indexed: number | undefined;
    for (const columns of this.#next.all(from, CHUNK)) {
      const pos = int(columns["pos"]);
      const cause = causeOf(text(columns["header"]));
      entries.push([short(text(columns["id"])), pos]);
      if (cause !== undefined) entries.push([short(cause), pos]);
      indexed = pos;
    }
    // Ascending, so that the chunk's entries which share a page are written together.
    for (const [hash, pos] of entries.toSorted((a, b) => a[0] - b[0])) this.#insert.run(hash, pos);
    if (indexed !== undefined) this.#setIndexed.run(indexed);
    return indexed;
  }
}

function checkedEvent(columns: Readonly<Record<string, SQLOutputValue>>): ChainEvent {
  const event = readEvent(columns);
  checkEvent(event);
  return event;
}
