// Owns: what is wrong or unwise, as the doctor and the overview show it. Does not own: the figures that it looks at.

import { counted, isAddress, kindOf } from "../../core/contract/internal.ts";
import type { ActorId } from "../../core/contract/index.ts";
import type { ConsoleData } from "./data.ts";
import type { EarlierFailure } from "./earlier-failures.ts";
import type { ErrorDoc } from "./error-docs.ts";
import type { CodedFault } from "./live.ts";
import type { LogEntry } from "./log-book.ts";
import type { Finding } from "./shapes.ts";

/** More of one sort are counted only. */
const MOST_OF_A_SORT = 20;
const SLOW_LOOP_MS = 100;
/** Pages of the write-ahead log: 64 MiB. */
const BACKLOG = 16_384;
const RANK = { error: 0, warning: 1, note: 2 } as const;

export interface Known {
  /** Dead letters, counted up to 100. */
  readonly letters?: number;
  /** Actors that had failed when an earlier process ended, and have handled no message since. */
  readonly failedBefore?: readonly EarlierFailure[];
  /** Tasks that ran when an earlier process ended. */
  readonly lostTasks?: number;
  readonly errors?: ReadonlyMap<string, ErrorDoc>;
}

/** Worst first. Within a level, what still holds comes first: crashes of many actors must not hide it. Reads no store. */
export function findings(data: ConsoleData, known: Known): readonly Finding[] {
  const found = [
    ...brokenActors(data),
    ...failedBefore(data, known),
    ...deadLetters(known),
    ...lostTasks(known),
    ...notServed(data),
    ...processFindings(data),
    ...slowCalls(data),
    ...slowTurns(data),
    ...largeStates(data),
    ...indexFindings(data),
    ...errorCodes(data, known),
    ...faultsOfActors(data),
    ...loggedErrors(data),
    ...settings(data),
  ];
  return found.toSorted(
    (one, other) => RANK[one.level] - RANK[other.level] || placeOf(one) - placeOf(other) || (other.lastAt ?? 0) - (one.lastAt ?? 0),
  );
}

/** Findings that have a time and still hold. */
const STILL_HOLD: ReadonlySet<string> = new Set(["ACTOR_FAILED", "FAILED_BEFORE", "INDEX_BUILDING"]);

/** First findings without a time, since there is one of each; then those that still hold, maybe one for each of many actors; then past ones. */
function placeOf({ code, lastAt }: Finding): number {
  if (lastAt === undefined) return 0;
  return STILL_HOLD.has(code) ? 1 : 2;
}

/** Actors that had faults, and take no messages now. */
export function failedActors({ live, reader }: ConsoleData): readonly ActorId[] {
  if (live === undefined || reader.health === undefined) return [];
  return Array.from(live.faulted.keys()).filter((id) => reader.health?.(id)?.failure !== undefined);
}

const pageOf = (id: ActorId): string => `/actors/${id}`;

function brokenActors(data: ConsoleData): readonly Finding[] {
  const all = failedActors(data);
  return all.slice(0, MOST_OF_A_SORT).map((id): Finding => {
    const fault = data.live?.faulted.get(id);
    return {
      level: "error",
      code: "ACTOR_FAILED",
      title: `${id} has failed${fault === undefined || fault.why === "" ? "" : `: ${fault.why}`}`,
      advice: "It takes no messages. Correct its code or what it was sent, then restart it: its state is unchanged.",
      docs: docsOf(data, "errors", "ACTOR_FAILED"),
      page: pageOf(id),
      ...(fault !== undefined && { count: fault.count, lastAt: fault.at }),
    };
  });
}

function failedBefore(data: ConsoleData, { failedBefore: earlier = [] }: Known): readonly Finding[] {
  const now = new Set(failedActors(data));
  return earlier
    .filter(({ id }) => !now.has(id))
    .slice(0, MOST_OF_A_SORT)
    .map(({ id, why, at }) => ({
      level: "warning",
      code: "FAILED_BEFORE",
      title: `${id} had failed before this start${why === "" ? "" : `: ${why}`}`,
      advice: "The start cleared its failure, and it has handled no message since. See that its code is corrected, then call it.",
      page: pageOf(id),
      lastAt: at,
    }));
}

const lostTasks = ({ lostTasks: count = 0 }: Known): readonly Finding[] =>
  count === 0
    ? []
    : [
        {
          level: "warning",
          code: "TASKS_LOST",
          title: `${counted(count, "task")} ran when an earlier process ended`,
          advice: "Whether they were applied is not known: look at what their tools change. They are listed for seven days.",
          page: "/tasks",
          count,
        },
      ];

const deadLetters = ({ letters = 0 }: Known): readonly Finding[] =>
  letters === 0
    ? []
    : [
        {
          level: "error",
          code: "DEAD_LETTERS",
          title: letters >= 100 ? "100 or more messages could not be delivered" : `${counted(letters, "message")} could not be delivered`,
          advice: "Each failed three times. See why, correct that, then replay or drop it.",
          page: "/letters",
          count: letters,
        },
      ];

const notServed = ({ unserved }: ConsoleData): readonly Finding[] =>
  (unserved?.() ?? []).slice(0, MOST_OF_A_SORT).map(({ kind, actors }) => ({
    level: "warning",
    code: "KIND_NOT_SERVED",
    title: `No served module defines the kind ${kind}`,
    advice:
      "Its actors keep their states, but take no messages, which become dead letters, and their timers do not fire. Serve the module that defines it.",
    page: `/actors?kind=${kind}`,
    count: actors,
  }));

function processFindings({ live }: ConsoleData): readonly Finding[] {
  if (live === undefined) return [];
  const found: Finding[] = [];
  const { loopMs } = live.sampled;
  if (loopMs >= SLOW_LOOP_MS)
    found.push({
      level: "warning",
      code: "LOOP_BLOCKED",
      title: `The event loop was blocked for ${Math.round(loopMs)} ms within the last minute`,
      advice:
        "All clients waited that long. The log names turns that were slow. Otherwise look for a large state, or synchronous work in a module.",
      page: "/log?level=warn",
    });
  const { backlog = 0 } = live.figures();
  if (backlog >= BACKLOG)
    found.push({
      level: "warning",
      code: "STORE_BACKLOG",
      title: `The store's write-ahead log has ${backlog} pages that are not in its file yet`,
      advice: "Checkpoints fail or come too late: look for another process that reads the file for a long time, and at the disk.",
      count: backlog,
    });
  return found;
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

function slowTurns({ live }: ConsoleData): readonly Finding[] {
  const slowest = new Map<string, { readonly ms: number; readonly count: number; readonly last: LogEntry }>();
  for (const entry of live?.log.entries ?? []) {
    if (entry.event !== "turn-slow") continue;
    const actor = text(entry.fields["actor"]);
    if (!isAddress(actor)) continue;
    const key = `${kindOf(actor)} ${text(entry.fields["action"]) ?? ""}`;
    const before = slowest.get(key);
    const ms = Number(entry.fields["ms"] ?? 0);
    slowest.set(key, { ms: Math.max(before?.ms ?? 0, ms), count: (before?.count ?? 0) + 1, last: entry });
  }
  return Array.from(slowest, ([, { ms, count, last }]): Finding => {
    const actor = text(last.fields["actor"]);
    return {
      level: "warning",
      code: "SLOW_TURN",
      title: `Turns of ${text(last.fields["action"]) ?? "an action"} took up to ${Math.round(ms)} ms`,
      advice: "A turn blocks everything else. Make it smaller, or move it into work, which runs outside of turns.",
      ...(isAddress(actor) && { page: pageOf(actor) }),
      count,
      lastAt: last.at,
    };
  }).slice(0, MOST_OF_A_SORT);
}

const slowCalls = ({ live, now }: ConsoleData): readonly Finding[] =>
  (live?.traffic.calls.slow(now()) ?? []).slice(0, MOST_OF_A_SORT).map(({ client, tool, calls, p95Ms, lastAt }) => ({
    level: "warning",
    code: "SLOW_CALLS",
    title: `Calls of ${tool} by ${client} run up to ${(p95Ms / 1_000).toFixed(1)} s (p95 of ${counted(calls, "call")} in the last quarter of an hour)`,
    advice:
      "Calls of other clients to the same actor wait meanwhile. Let this tool do less at once, or give its slow part an actor of its own.",
    page: `/traffic?method=tools%2Fcall&slow=1000&search=${encodeURIComponent(tool)}`,
    lastAt,
  }));

const largeStates = ({ live }: ConsoleData): readonly Finding[] =>
  Array.from(live?.largeStates ?? [], ([id, at]): Finding => ({
    level: "note",
    code: "LARGE_STATE",
    title: `The state of ${id} is larger than 256 KiB`,
    advice: "Each turn compares it, and each start reads it. Move what grows without bound to actors of its own.",
    page: pageOf(id),
    lastAt: at,
  })).slice(0, MOST_OF_A_SORT);

function indexFindings({ live, running }: ConsoleData): readonly Finding[] {
  const building = new Map<string, LogEntry>();
  for (const entry of live?.log.entries ?? []) {
    const name = text(entry.fields["index"]);
    if (name === undefined) continue;
    if (entry.event === "index-building") building.set(name, entry);
    if (entry.event === "index-built") building.delete(name);
  }
  const found = Array.from(building, ([name, { fields, at }]): Finding => ({
    level: "warning",
    code: "INDEX_BUILDING",
    title: `The index ${name} is not complete yet`,
    advice: "Until then its queries leave actors out. It is built while the server runs.",
    count: Number(fields["actors"] ?? 0),
    lastAt: at,
  }));
  const now = running?.();
  if (now === undefined || now.indexes.length === 0 || now.engine.query !== undefined) return found;
  return [
    ...found,
    {
      level: "warning",
      code: "INDEXES_NOT_SERVED",
      title: `This engine has no indexes: ${now.indexes.map(({ name }) => name).join(", ")}`,
      advice: "Actors cannot be found by their contents here: use an engine that has `query`.",
    },
  ];
}

/** What clients were answered. */
function errorCodes(data: ConsoleData, { errors }: Known): readonly Finding[] {
  const recorded = new Set(Array.from(data.live?.traffic.rows.newest() ?? [], ({ code }) => code));
  return Array.from(data.live?.traffic.codes ?? [], ({ code, count, lastAt, message }): Finding => {
    const doc = errors?.get(code);
    // What else the code may mean does not explain this refusal.
    const when = doc?.when.replace(/ Also: .*/s, "");
    const advice = [when, doc?.advice].filter((words) => words !== undefined && words !== "").map(sentence);
    return {
      level: INTERNAL.has(code) ? "error" : "note",
      code,
      title: message === undefined ? `Clients were refused with ${code}` : `Clients were refused: ${message}`,
      advice: advice.length === 0 ? "The sentence says what to do." : advice.join(" "),
      ...(doc !== undefined && { docs: docsOf(data, "errors", code) }),
      ...(recorded.has(code) && { page: `/traffic?search=${encodeURIComponent(code)}` }),
      count,
      lastAt,
    };
  });
}

const sentence = (words = ""): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.!?]$/u.test(words) ? "" : "."}`;

/** Codes that are the server's own trouble. Others tell a client about its request; what has a number only is in the log, too. */
const INTERNAL: ReadonlySet<string> = new Set([
  "BAD_TURN",
  "OUT_OF_ORDER",
  "STATE_NOT_JSON",
  "STATE_TOO_LARGE",
  "STATE_NEWER",
  "UNAVAILABLE",
  "IMPURE",
]);

/** Each crash is one fault; those of several actors of a kind for the same reason are one finding. Actors that have failed have their own. */
function faultsOfActors(data: ConsoleData): readonly Finding[] {
  const failed = new Set(failedActors(data));
  const alike = new Map<string, { readonly actors: number; readonly count: number; readonly last: CodedFault }>();
  for (const fault of data.live?.faults ?? []) {
    if (failed.has(fault.actor)) continue;
    const key = JSON.stringify([kindOf(fault.actor), fault.code, fault.action, fault.why]);
    const before = alike.get(key);
    // The latest comes last.
    alike.delete(key);
    alike.set(key, { actors: (before?.actors ?? 0) + 1, count: (before?.count ?? 0) + fault.count, last: fault });
  }
  return Array.from(alike.values(), ({ actors, count, last: { actor, code, action, why, at } }): Finding => {
    const crashed = code === "CRASHED";
    const kind = kindOf(actor);
    const who = actors === 1 ? actor : `${actors} actors of ${kind}`;
    const did = crashed ? "crashed" : actors === 1 ? "had a fault" : "had faults";
    return {
      level: "error",
      code,
      title: `${who} ${did}${action === undefined ? "" : ` in ${action}`}${why === "" ? "" : `: ${why}`}`,
      advice: `${crashed ? "Those messages were not applied. " : ""}Open the log for the place in the code, and correct it or what was sent.`,
      ...(code === code.toUpperCase() && { docs: docsOf(data, "errors", code) }),
      page: `/log?level=error&${actors === 1 ? `actor=${encodeURIComponent(actor)}` : `search=${encodeURIComponent(`${kind}/`)}`}`,
      count,
      lastAt: at,
    };
  }).slice(-MOST_OF_A_SORT);
}

/** Errors in the log that name no actor, by code; those without one by event and error. */
function loggedErrors(data: ConsoleData): readonly Finding[] {
  const found = new Map<string, { readonly count: number; readonly last: LogEntry }>();
  for (const entry of data.live?.log.entries ?? []) {
    if (entry.level !== "error" || isAddress(entry.fields["actor"])) continue;
    const { code, error } = entry.fields;
    const key = text(code) ?? [entry.event, text(error)].join(" ");
    found.set(key, { count: (found.get(key)?.count ?? 0) + 1, last: entry });
  }
  return Array.from(found.values(), ({ count, last: { event, fields, at } }): Finding => {
    const code = text(fields["code"]);
    const why = text(fields["why"]) ?? text(fields["message"]);
    return {
      level: "error",
      code: code ?? event,
      title: `The server logged ${event}${why === undefined ? "" : `: ${why.slice(0, 200)}`}`,
      advice: "Open the log for the place in the code.",
      ...(code !== undefined && { docs: docsOf(data, "errors", code) }),
      page: `/log?level=error&search=${encodeURIComponent(event)}`,
      count,
      lastAt: at,
    };
  }).slice(0, MOST_OF_A_SORT);
}

function settings(data: ConsoleData): readonly Finding[] {
  const { settings: given, about } = data;
  const found: Finding[] = [];
  const add = (level: Finding["level"], code: string, title: string, advice: string, page = "security"): void =>
    void found.push({ level, code, title, advice, docs: docsOf(data, page) });
  if (about.development)
    add(
      "note",
      "DEVELOPMENT",
      "This is troupe dev",
      "It runs each turn twice, to find functions that are not pure, and lets a caller be any user. Use troupe serve in production.",
      "cli",
    );
  if (given === undefined) return found;
  if (given.insecure)
    add(
      "error",
      "INSECURE",
      "--insecure: everyone who reaches this server may call it",
      "Give --api-keys or --jwks, and remove --insecure.",
    );
  else if (given.exposed && !given.authenticated)
    add("error", "NO_AUTH", "It listens beyond this machine without authentication", "Give --api-keys or --jwks.");
  if (!given.rateLimited)
    add("warning", "NO_RATE_LIMIT", "There is no rate limit", "One client can use all of the server: remove --rate 0.");
  if (!given.durable && !about.development)
    add(
      "note",
      "NOT_DURABLE",
      "Actors and sessions live in memory: they end with the process",
      "Set persistence to disk for what must last.",
      "actors",
    );
  return found;
}

/** A page of the documentation, and the text to look for in it. */
const docsOf = ({ about }: ConsoleData, page: string, code?: string): string =>
  `${about.docs.replace(/\/$/, "")}/${page}.md${code === undefined ? "" : `#:~:text=${encodeURIComponent(code)}`}`;
