import { closeSync, constants, existsSync, fdatasyncSync, lstatSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import { systemCode } from "./sqlite-error.ts";

/** What of the log is known to be on the disk. */
export interface Synced {
  readonly salts: readonly [number, number];
  readonly frames: number;
  /** Of these the database has so many: the log is not needed for them. */
  readonly copied: number;
}

const PID_BYTES = 16;
const hex = (number: number): string => number.toString(16).padStart(8, "0");
const fromHex = (text: string | undefined): number => Number.parseInt(text ?? "", 16);
const LINE = /^log ([0-9a-f]{8}) ([0-9a-f]{8}) ([0-9a-f]{8}) ([0-9a-f]{8}) ([0-9a-f]{8})$/u;

/**
 * The file beside the lock: who holds the store, for people, and what of its log was synced. It is there from the opening of a store
 * until it is closed in good order, so one that is found tells of a process that was killed.
 *
 * It is written after every sync and not synced itself: a killed process leaves it exact. A loss of power may leave one that is older,
 * which claims less than there is, and never more.
 */
export class SyncRecord {
  readonly #file: number;
  readonly #pid = Buffer.from(`${process.pid}`.padEnd(PID_BYTES - 1) + "\n", "latin1");
  readonly #line = Buffer.alloc(49);

  private constructor(file: number) {
    this.#file = file;
  }

  /** Takes the file over; what it says of the log stays until `write`. */
  static take(path: string): SyncRecord {
    // What has that name may be a link to something else, which must not be written to.
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found !== undefined && (!found.isFile() || found.nlink > 1)) rmSync(path);
    const file = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
    try {
      const record = new SyncRecord(file);
      record.#writePid();
      record.sync();
      return record;
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  /** What the file at `path` says. "none": nothing of a log, as where an older version wrote it; "damaged": it cannot be trusted. */
  static read(path: string): Synced | "none" | "damaged" {
    if (!existsSync(path)) return "none";
    const line = readFileSync(path, "latin1").split("\n")[1] ?? "";
    if (line === "") return "none";
    const [, salt1, salt2, frames, copied, sum] = LINE.exec(line) ?? [];
    if (sum === undefined || hex(crc32(line.slice(0, 39))) !== sum) return "damaged";
    return { salts: [fromHex(salt1), fromHex(salt2)], frames: fromHex(frames), copied: fromHex(copied) };
  }

  write({ salts: [salt1, salt2], frames, copied }: Synced): void {
    const text = `log ${hex(salt1)} ${hex(salt2)} ${hex(frames)} ${hex(copied)}`;
    this.#line.write(`${text} ${hex(crc32(text))}\n`, "latin1");
    writeSync(this.#file, this.#line, 0, this.#line.length, PID_BYTES);
  }

  /** The errno of writing this file as it is; undefined: it can be written. */
  whyNotWritten(): string | undefined {
    try {
      this.#writePid();
      return undefined;
    } catch (error) {
      return systemCode(error);
    }
  }

  #writePid(): void {
    writeSync(this.#file, this.#pid, 0, this.#pid.length, 0);
  }

  /** Before something that a record of before would take for a loss. */
  sync(): void {
    fdatasyncSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }
}
