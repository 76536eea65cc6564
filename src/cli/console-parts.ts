// Owns: what the consoles of a server and of `troupe console` share: the page's files, the link, disk usage, guests. Does not own: their
// API (bridges/console).
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import {
  type ConsoleAssets,
  type ConsoleData,
  consolePage,
  type GuestFacts,
  type GuestManifest,
  type GuestsData,
  readAssets,
} from "../bridges/console/index.ts";
import { GUEST, type GuestState, isGuestState } from "../bridges/wasm/guest-state.ts";
import type { Grants, Guests } from "../bridges/wasm/index.ts";
import { type ActorId, type Json, systemClock } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import { describeFailure } from "./command-error.ts";
import type { DataDirectory } from "./data-directory.ts";
import { PACKAGE } from "./installed-packages.ts";
import type { ServerLog } from "./log.ts";

/** The path of the console. */
export const CONSOLE = "/console";
/** The folder of the documentation, in the package and in a checkout. */
export const DOCS = "docs/guide";
/** How long a measurement is reused. */
const DISK_MS = 5_000;

/** A new token for each start. It goes behind `#`, which browsers do not send. */
export const consoleToken = (): string => randomBytes(32).toString("base64url");

export const consoleLink = (token: string | undefined): string => (token === undefined ? CONSOLE : `${CONSOLE}#token=${token}`);

/** The disk usage of a data directory. */
export const diskOf = (directory: Pick<DataDirectory, "sizes">): NonNullable<ConsoleData["disk"]> => {
  let measured: { readonly at: number; readonly bytes: number } | undefined;
  return async () => {
    // The wall clock may be set back.
    const at = performance.now();
    if (measured === undefined || at - measured.at >= DISK_MS)
      measured = { at, bytes: Object.values(directory.sizes()).reduce((sum, size) => sum + size, 0) };
    return { bytes: measured.bytes };
  };
};

const run = promisify(execFile);
const BUILD = join(PACKAGE, "scripts/build-console.ts");
/** The sources of the page and of its API description. */
const SOURCES = ["console", "src/bridges/console/shapes", "src/cli/install/entries.ts", "package-lock.json"].map((path) =>
  join(PACKAGE, path),
);
/** Not dist, which belongs to the build of the package. */
const BUILT = join(PACKAGE, "node_modules/.cache/troupe/console");
/** A build takes seconds, so an older lock was left by a process that died. */
const LOCK_MS = 120_000;

/** The time of the newest file; 0 if there is none. */
const newest = (path: string): number => {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return found?.mtimeMs ?? 0;
  return readdirSync(path).reduce((most, name) => Math.max(most, newest(join(path, name))), found.mtimeMs);
};

const isBuilt = (): boolean => newest(join(BUILT, "index.html")) > Math.max(...SOURCES.map(newest));

/** Builds under a lock: servers that start together wait for one of them. */
const build = async (log: ServerLog): Promise<void> => {
  const lock = `${BUILT}.lock`;
  mkdirSync(dirname(lock), { recursive: true });
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      // A checkout that is not writable.
      if (!isTaken(error)) throw error;
      if (ageOf(lock) > LOCK_MS) rmSync(lock, { recursive: true, force: true });
      await sleep(100);
    }
  }
  try {
    if (isBuilt()) return;
    log("info", "console-building", {});
    await run(process.execPath, [BUILD, BUILT], { cwd: PACKAGE });
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
};

const isTaken = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EEXIST";

const ageOf = (path: string): number => {
  const now = systemClock.now();
  return now - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now);
};

/**
 * The page's files. A checkout builds them on first use, and after their sources have changed. Undefined if they cannot be built; then the
 * log says why and there is only the API.
 */
export const consoleFiles = async (log: ServerLog): Promise<ConsoleAssets | undefined> => {
  if (!existsSync(BUILD)) return await consolePage();
  try {
    if (!isBuilt()) await build(log);
    return await readAssets(BUILT);
  } catch (error) {
    log("warn", "console-not-built", { why: describeFailure(error).message, what: 'The console has its API and no page: run "npm ci".' });
    return undefined;
  }
};

/** What the console shows of guests. Without `guests`, of a directory in which none runs. */
export const guestsData = (guests?: Guests): GuestsData => ({
  kind: GUEST,
  read: (id, state) => (isGuestState(state) ? { facts: factsOf(id, state, guests), paused: state.status === "paused" } : undefined),
  ...(guests !== undefined && { manifest: (state: Json) => manifestOf(state, guests) }),
});

const factsOf = (id: ActorId, guest: GuestState, guests: Guests | undefined): GuestFacts => {
  const { name, origin, component, manifest, status, failed, parent, children, channels, outstanding } = guest;
  const { memoryBytes, ...times } = guests?.measured(id) ?? {};
  return {
    name,
    component,
    manifest,
    ...(status === "paused" && { why: failed?.message ?? "Its parent failed." }),
    ...omitUndefined({ origin, parent, failedAt: failed?.seq }),
    children: Object.values(children),
    channels: Object.keys(channels).length,
    requests: outstanding.length,
    ...(hasTimes(times) && { measured: { ...times, ...(typeof memoryBytes === "number" && { memoryBytes }) } }),
  };
};

const hasTimes = <T extends object>(times: T): times is T & { failed: number; totalMs: number; minMs: number; maxMs: number } =>
  "failed" in times;

const manifestOf = async (state: Json, guests: Guests): Promise<GuestManifest | undefined> => {
  const known = isGuestState(state) ? await guests.manifest(state) : undefined;
  if (known === undefined) return undefined;
  const { manifest, limits } = known;
  const { text, version, description, onError, grants } = manifest;
  const { callMs, memoryBytes } = limits;
  return { text, ...omitUndefined({ version, description }), limits: { callMs, memoryBytes }, onError, grants: grantsOf(grants) };
};

/** The grants as short phrases. */
const grantsOf = (grants: Grants): readonly string[] => [
  ...(grants.runtime === undefined ? [] : ["runtime"]),
  ...(grants.messageServer === undefined ? [] : ["messages"]),
  ...(grants.supervisor === undefined ? [] : ["children"]),
  ...(grants.store === undefined ? [] : ["content store"]),
  ...(grants.timing === undefined ? [] : ["timing"]),
  ...(grants.random === undefined ? [] : ["randomness"]),
  ...(grants.environment === undefined ? [] : ["environment"]),
  ...(grants.filesystem === undefined ? [] : [grants.filesystem.write ? "files" : "files, to read"]),
  ...(grants.httpClient === undefined ? [] : [`HTTP to ${grants.httpClient.allowed.join(", ")}`]),
];
