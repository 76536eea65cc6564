/** "TrpC" */
export const APPLICATION = 0x54_72_70_43;

/** As of actors' schema: one script per version, and one that was released is never changed. `meta` is for group commit. */
export const SCHEMA: readonly string[] = [
  `
  CREATE TABLE piece(id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, bytes BLOB NOT NULL);
  CREATE TABLE place(space TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY(space, digest)) WITHOUT ROWID;
  CREATE INDEX place_digest ON place(digest);
  CREATE TABLE label(space TEXT NOT NULL, label TEXT NOT NULL, digest TEXT NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY(space, label)) WITHOUT ROWID;
  CREATE INDEX label_digest ON label(digest);
  CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO meta VALUES('indexed', 0);
  `,
];
