import { constants, copyFileSync, existsSync, lstatSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { isBag, StoreError } from "../contract/index.ts";
import { int } from "./column.ts";
import { recordOf } from "./lock.ts";
import { type LogExtent, readLog } from "./wal-file.ts";
import { SyncRecord } from "./sync-record.ts";

/** What a killed process had put on the disk, and the log it left has no more. */
export interface LogLoss {
  /** `log-missing`: the file is not there; `log-cut`: it is damaged or shorter than it was. */
  readonly event: "log-missing" | "log-cut";
  readonly log: string;
  /** How many frames are lost, each a page that was changed. Undefined: nobody knows. */
  readonly frames?: number;
  /** At least so many commits are lost, which lie behind the damage. Undefined: nobody knows. */
  readonly commits?: number;
  /** Keeps this until an operator removes it. */
  readonly alarm: string;
  /** The sentence for people. */
  readonly message: string;
}

/** Between the last record and a loss of power, which may take the record back by half a minute; logs of other stores seldom are so near. */
const MOST_RESTARTS = 65_536;

export const hasHeader = ([salt1, salt2]: LogExtent["salts"]): boolean => salt1 !== 0 || salt2 !== 0;

const alarmOf = (path: string): string => `${path}.log-lost`;

export interface Inspected {
  /** Found now, or earlier and not acknowledged. */
  readonly loss: LogLoss | undefined;
  /** Found now. */
  readonly isNew: boolean;
  readonly extent: LogExtent;
}

/**
 * Looks at the log of a store that no process holds, before SQLite does: it keeps what is whole of a log, and makes a new one where there is
 * none. `rewrite`: see `readLog`. Throws the system's errors.
 */
export function inspectLog(path: string, wasLeft: boolean, rewrite: boolean): Inspected {
  const log = `${path}-wal`;
  const extent = readLog(log, rewrite);
  const isStore = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const found = isStore ? lossOf(path, log, extent, wasLeft) : undefined;
  const before = known(path);
  return { loss: found && before ? both(before, found) : (found ?? before), isNew: found !== undefined, extent };
}

const sum = (one?: number, other?: number): number | undefined => (one === undefined ? other : one + (other ?? 0));

/** What was lost before goes on being told with what was lost now. */
const both = (before: LogLoss, now: LogLoss): LogLoss =>
  lossWith(now.event, now.log, now.alarm, sum(before.frames, now.frames), sum(before.commits, now.commits));

/**
 * Throws `STORE_CORRUPT` where the file of a database that was just opened is shorter than that says: SQLite does not look where there is a
 * log. A checkpoint that was interrupted leaves such a file, too, but then the log has the rest.
 */
export function refuseShort(path: string, database: DatabaseSync, { pages: inLog }: LogExtent): void {
  const pragma = (name: string): number => int(database.prepare(`PRAGMA ${name}`).get()?.[name]);
  const pages = pragma("page_count");
  const pageBytes = pragma("page_size");
  const present = Math.floor(statSync(path).size / pageBytes);
  // SQLite never writes the page of its locks.
  const lockPage = 2 ** 30 / pageBytes + 1;
  let missing = 0;
  for (let page = present + 1; page <= pages; page += 1) if (!inLog.has(page) && page !== lockPage) missing += 1;
  if (missing === 0) return;
  throw new StoreError(
    "STORE_CORRUPT",
    `The store's file ${path} was cut: ${missing} of its ${pages} pages are not there. Restore it from a copy, without another log beside it.`,
  );
}

/** A link that leads nowhere, too. */
const isThere = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false }) !== undefined;

/**
 * Keeps a loss in the directory, with the damaged log, which the next write would change. The log of an earlier loss that nobody has
 * acknowledged stays, too, under a name that ends in a number. Throws the system's errors.
 */
export function keepAlarm(loss: LogLoss): void {
  const copy = `${loss.alarm}-wal`;
  // Made anew: what has that name may be a link to something else, or what a full disk left of an earlier try.
  for (const file of [`${loss.alarm}.new`, `${copy}.new`]) rmSync(file, { force: true });
  if (existsSync(loss.log)) copyFileSync(loss.log, `${copy}.new`, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  writeFileSync(`${loss.alarm}.new`, `${JSON.stringify(loss)}\n`, { mode: 0o600, flush: true, flag: "wx" });
  if (isThere(loss.alarm) && isThere(copy)) {
    let number = 1;
    while (isThere(`${copy}.${number}`)) number += 1;
    renameSync(copy, `${copy}.${number}`);
  }
  rmSync(copy, { force: true });
  if (existsSync(`${copy}.new`)) renameSync(`${copy}.new`, copy);
  renameSync(`${loss.alarm}.new`, loss.alarm);
}

/** A loss that was found here and that nobody has acknowledged. */
export function known(path: string): LogLoss | undefined {
  const alarm = alarmOf(path);
  if (!existsSync(alarm)) return undefined;
  const log = `${path}-wal`;
  try {
    const kept: unknown = JSON.parse(readFileSync(alarm, "utf8"));
    const number = (name: string): number | undefined => (isBag(kept) && typeof kept[name] === "number" ? kept[name] : undefined);
    const event = isBag(kept) && kept["event"] === "log-missing" ? "log-missing" : "log-cut";
    return lossWith(event, log, alarm, number("frames"), number("commits"));
  } catch {
    return lossWith("log-cut", log, alarm);
  }
}

const textOf = ({ event, log, frames, commits, alarm }: Omit<LogLoss, "message">): string => {
  const how =
    event === "log-missing"
      ? "its log was taken away"
      : frames === undefined && commits === undefined
        ? "its log, or the record of it beside the lock, is damaged or another's"
        : "its log is damaged or was cut";
  const count = [
    ...(frames === undefined ? [] : [`${frames} changed pages that were on the disk are lost`]),
    ...(commits === undefined ? [] : [`at least ${commits} commits lie behind the damage`]),
  ];
  return `The server before was killed, and ${how} (${log}): turns it acknowledged last ${count.length === 0 ? "may be missing" : `are missing; ${count.join(", ")}`}. Restore the log with the store of that time, or go on without them; then remove ${basename(alarm)} beside it, which keeps this until then.`;
};

function lossOf(path: string, log: string, extent: LogExtent, wasLeft: boolean): LogLoss | undefined {
  const alarm = alarmOf(path);
  const record = SyncRecord.read(recordOf(path));
  const behind = extent.commitsBehind > 0 ? extent.commitsBehind : undefined;
  if (typeof record !== "string") {
    const { salts, frames, copied } = record;
    const isSame = salts[0] === extent.salts[0] && salts[1] === extent.salts[1];
    // Restarts count the first salt up, and a log restarts only where the database has all of it.
    const restarts = (extent.salts[0] - salts[0]) >>> 0;
    const isLater = hasHeader(extent.salts) && restarts > 0 && restarts < MOST_RESTARTS;
    const lost = isLater ? 0 : frames - Math.max(copied, isSame ? extent.frames : 0);
    if (lost > 0) return lossWith(existsSync(log) ? "log-cut" : "log-missing", log, alarm, lost, behind);
    if (hasHeader(salts) && hasHeader(extent.salts) && !isSame && !isLater) return lossWith("log-cut", log, alarm, undefined, behind);
  }
  // It would have said what is missing.
  if (record === "damaged") return lossWith(existsSync(log) ? "log-cut" : "log-missing", log, alarm, undefined, behind);
  // As long as a store is open its log is there, and who closes it in good order says so before the log goes.
  if (wasLeft && !existsSync(log)) return lossWith("log-missing", log, alarm);
  return record === "none" && behind !== undefined ? lossWith("log-cut", log, alarm, undefined, behind) : undefined;
}

const lossWith = (event: LogLoss["event"], log: string, alarm: string, frames?: number, commits?: number): LogLoss => {
  const loss = {
    event,
    log,
    alarm,
    ...(frames === undefined ? {} : { frames }),
    ...(commits === undefined ? {} : { commits }),
  };
  return { ...loss, message: textOf(loss) };
};
