/** "Trpe": says whose file this is. */
export const APPLICATION = 0x54_72_70_65;

/**
 * One script per schema version, each from the one before it. A script that was
 * released is never changed.
 *
 * `event` is a log: rows are only added, at its end, and name their predecessor
 * (`prev`) by place; no index hangs on it, because one costs two thirds of the
 * durable turns a second. `back` is the place of the actor's last event whose seq is a
 * multiple of 64, `far` (on those only) of the last multiple of 4,096: any seq is
 * found from the head in a few hundred steps however long the chain.
 * `seek` finds events by id and by cause; it is filled when someone asks, up to
 * `meta.indexed`. `sum` columns hold CRC-32s of what no hash of the chain covers.
 * `meta.actor` and `meta.event` are the highest `id` and `pos` there were when an actor was removed: none is given twice.
 */
export const SCHEMA: readonly string[] = [
  `
  CREATE TABLE actor(
    id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, head TEXT NOT NULL, pos INTEGER NOT NULL, full INTEGER NOT NULL,
    version INTEGER NOT NULL, seen INTEGER NOT NULL, count INTEGER NOT NULL, sum INTEGER NOT NULL, due INTEGER,
    kind TEXT NOT NULL, key TEXT NOT NULL, uid TEXT NOT NULL, status TEXT NOT NULL, owner TEXT, parent TEXT, rest TEXT NOT NULL);
  CREATE UNIQUE INDEX actor_name ON actor(kind, key);
  CREATE UNIQUE INDEX actor_uid ON actor(uid);
  CREATE INDEX actor_owner ON actor(owner, kind, key) WHERE owner IS NOT NULL;
  CREATE INDEX actor_parent ON actor(parent, kind, key) WHERE parent IS NOT NULL;
  CREATE INDEX actor_due ON actor(due) WHERE due IS NOT NULL;
  CREATE TABLE event(
    pos INTEGER PRIMARY KEY, actor INTEGER NOT NULL, seq INTEGER NOT NULL, prev INTEGER, back INTEGER, far INTEGER,
    id TEXT NOT NULL, header TEXT NOT NULL, body TEXT);
  CREATE TABLE seek(hash INTEGER NOT NULL, pos INTEGER NOT NULL, PRIMARY KEY(hash, pos)) WITHOUT ROWID;
  CREATE TABLE outbox(pos INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, failures INTEGER NOT NULL, message TEXT NOT NULL, sum INTEGER NOT NULL);
  CREATE TABLE letter(pos INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, why TEXT NOT NULL, message TEXT NOT NULL, sum INTEGER NOT NULL);
  CREATE TABLE remembered(actor INTEGER NOT NULL, key TEXT NOT NULL, until INTEGER NOT NULL, reply TEXT NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY(key, actor)) WITHOUT ROWID;
  CREATE INDEX remembered_until ON remembered(until);
  CREATE TABLE tally(kind TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO meta VALUES('indexed', 0);
  `,
  "ALTER TABLE remembered ADD COLUMN call TEXT NOT NULL DEFAULT ''",
  // Those that live are all without these: an index over them would cost each birth.
  "CREATE INDEX actor_stopped ON actor(kind) WHERE status = 'stopped'",
  // Where what is left of a removed actor's chain ends: gone is it first, its events go after it, some at a time.
  "CREATE TABLE gone(pos INTEGER PRIMARY KEY)",
];
