import type { Grants } from "../manifest.ts";
import type { Table } from "./table.ts";

type Granting = { -readonly [K in keyof Grants]: Grants[K] };

const HOUR_MS = 3_600_000;
const LONGEST_SLEEP_MS = 2 ** 31 - 1;
const MOST_RANDOM_BYTES = 1_048_576;
const MOST_INT = 2n ** 63n - 1n;
const NAME = 256;
const PATH = 4_096;

/**
 * What a handler listed in a manifest grants, by its `type`. `fields`: its own keys and those of its `config`.
 * Two handlers of one type: the later one holds.
 */
export const HANDLERS: Readonly<Record<string, (grants: Granting, fields: Table) => void>> = {
  runtime: (grants) => void (grants.runtime = true),
  "message-server": (grants) => void (grants.messageServer = true),
  supervisor: (grants) => void (grants.supervisor = true),
  store: (grants) => void (grants.store = true),
  timing(grants, fields) {
    const maxSleepMs = Number(fields.whole("max_sleep_duration", 0, LONGEST_SLEEP_MS) ?? HOUR_MS);
    const minSleepMs = Number(fields.whole("min_sleep_duration", 0, LONGEST_SLEEP_MS) ?? 1);
    if (minSleepMs > maxSleepMs)
      throw fields.wrong("min_sleep_duration", `The shortest sleep (${minSleepMs} ms) is longer than the longest (${maxSleepMs} ms).`);
    grants.timing = { minSleepMs, maxSleepMs };
  },
  random(grants, fields) {
    const maxBytes = Number(fields.whole("max_bytes", 0, MOST_RANDOM_BYTES) ?? MOST_RANDOM_BYTES);
    grants.random = { maxBytes, maxInt: fields.whole("max_int", 0, MOST_INT) ?? MOST_INT };
  },
  // Where Theater takes no list for all variables, here it is none: a server's environment holds its secrets.
  environment(grants, fields) {
    grants.environment = {
      allowed: fields.strings("allowed_vars", NAME) ?? [],
      denied: fields.strings("denied_vars", NAME) ?? [],
      prefixes: fields.strings("allowed_prefixes", NAME) ?? [],
      listAll: fields.flag("allow_list_all") ?? false,
    };
  },
  filesystem(grants, fields) {
    const path = fields.string("path", PATH);
    const own = fields.flag("new_dir") ?? false;
    if (path === "") throw fields.wrong("path", "path is empty; name a directory, or leave it away for one of the guest's own.");
    grants.filesystem = { ...(path === undefined || own ? {} : { path }), write: !(fields.flag("read_only") ?? false) };
  },
  // Here it is a list of hosts or beginnings of URLs, too, and none without it.
  "http-client": (grants, fields) => void (grants.httpClient = { allowed: fields.strings("allowed", 2_048) ?? [] }),
};

/** What else Theater has, and why it is not here. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  process: "Guests start no processes here: let an actor that is no guest do it, and send to that.",
  "http-framework": "Guests serve no HTTP here: the gateway does, and calls them.",
};
