import type { DatabaseSync, StatementSync } from "node:sqlite";
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
    this.#scan = database.prepare(
      "SELECT id, header, body FROM event WHERE pos > ? AND (id = ? OR instr(header, ?) > 0) ORDER BY pos LIMIT ?",
    );
  }

  async event(id: string): Promise<ChainEvent | undefined> {
    // Nothing comes before its cause, but what happens to share its short name.
    return (await this.#all(id, MOST_ALIKE)).find((event) => event.id === id);
  }

  async caused(id: string): Promise<readonly ChainEvent[]> {
    const all = await this.#all(id, MOST_EFFECTS + MOST_ALIKE);
    return all.filter((event) => causeOf(event.header) === id).slice(0, MOST_EFFECTS);
  }

  async #all(id: string, limit: number): Promise<readonly ChainEvent[]> {
    if (!isEventId(id)) return [];
    if (this.#commits) {
      await (this.#building ??= this.#build(this.#commits).finally(() => (this.#building = undefined)));
    }
    const rows = this.#found.all(short(id), limit);
    if (!this.#commits) rows.push(...this.#scan.all(int(this.#indexed.get()?.["value"]), id, `,"cause":"${id}"`, limit));
    return rows.map((columns) => {
      const event = readEvent(columns);
      checkEvent(event);
      return event;
    });
  }

  async #build(commits: GroupCommit): Promise<void> {
    const last = Number(this.#last.get()?.["pos"] ?? 0);
    let indexed = int(this.#indexed.get()?.["value"]);
    while (indexed < last) {
      const from = indexed;
      indexed = await commits.add(() => this.#chunk(from));
    }
  }

  #chunk(from: number): number {
    const entries: (readonly [hash: number, pos: number])[] = [];
    let indexed = from;
    for (const columns of this.#next.all(from, CHUNK)) {
      const pos = int(columns["pos"]);
      const cause = causeOf(text(columns["header"]));
      entries.push([short(text(columns["id"])), pos]);
      if (cause !== undefined) entries.push([short(cause), pos]);
      indexed = pos;
    }
    // Ascending, so that the chunk's entries which share a page are written together.
    for (const [hash, pos] of entries.toSorted((a, b) => a[0] - b[0])) this.#insert.run(hash, pos);
    this.#setIndexed.run(indexed);
    return indexed;
  }
}
