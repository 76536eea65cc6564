// Owns: what the server logged since it started, in bounded memory. Does not own: who logs (src/cli/log.ts), and the routes.

import { isJsonObject, type JsonObject } from "../../core/contract/index.ts";
import { cutText, isAddress, omitUndefined } from "../../core/contract/internal.ts";
import { isLarger } from "./bounded.ts";
import type { LogRow } from "./shapes.ts";

/** A flood of one kind of entries must not push out the other. */
const MOST = { problems: 500, others: 1_000 };
/** In characters, about. Of larger fields only short texts and numbers are stored. */
const MAX_FIELDS = 16_384;
const MAX_TEXT = 1_024;

/** Something in the server's log. */
export interface LogEntry {
  /** Grows. */
  readonly n: number;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly event: string;
  readonly fields: JsonObject;
  readonly at: number;
}

export class LogBook {
  readonly #problems: LogEntry[] = [];
  readonly #others: LogEntry[] = [];
  #last = 0;

  /** The number of the newest entry; 0: there is none. */
  get last(): number {
    return this.#last;
  }

  add(level: LogEntry["level"], event: string, fields: JsonObject, at: number): void {
    this.#last += 1;
    const isProblem = level === "warn" || level === "error";
    const entries = isProblem ? this.#problems : this.#others;
    entries.push({ n: this.#last, level, event: cutText(event, MAX_TEXT), fields: bounded(fields), at });
    if (entries.length > (isProblem ? MOST.problems : MOST.others)) entries.shift();
  }

  /** Newest first. */
  *newest(): Generator<LogEntry> {
    let [problem, other] = [this.#problems.length - 1, this.#others.length - 1];
    for (;;) {
      const [one, another] = [this.#problems[problem], this.#others[other]];
      if (one !== undefined && (another === undefined || one.n > another.n)) {
        problem -= 1;
        yield one;
      } else if (another !== undefined) {
        other -= 1;
        yield another;
      } else return;
    }
  }

  /** Oldest first. */
  get entries(): readonly LogEntry[] {
    return [...this.newest()].toReversed();
  }
}

const bounded = (fields: JsonObject): JsonObject =>
  isLarger(fields, MAX_FIELDS)
    ? Object.fromEntries(
        Object.entries(fields)
          .slice(0, MAX_FIELDS / MAX_TEXT)
          .flatMap(([name, value]) =>
            typeof value === "object" && value !== null ? [] : [[name, typeof value === "string" ? cutText(value, MAX_TEXT) : value]],
          ),
      )
    : fields;

/** As the API has it. */
export function logRow({ n, at, level, event, fields }: LogEntry): LogRow {
  const { actor, principal, session } = fields;
  return {
    n,
    at,
    level,
    event,
    fields,
    ...(isAddress(actor) && { actor }),
    ...omitUndefined({ code: codeIn(fields) }),
    ...(typeof principal === "string" && { principal }),
    ...(typeof session === "string" && { session }),
  };
}

/** Of the fault, or of what it came from. */
function codeIn({ code, cause }: JsonObject): string | undefined {
  if (typeof code === "string") return code;
  return isJsonObject(cause) ? codeIn(cause) : undefined;
}
