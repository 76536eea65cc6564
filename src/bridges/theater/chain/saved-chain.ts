// Owns: chains as files in Theater's format. Does not own: which chains are saved (engine/save-chains.ts).
import { constants } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Entropy, systemEntropy } from "../../../core/contract/index.ts";
import type { TheaterEvent } from "../stage.ts";
import { hexOf, isSha1, printEvent, readEvent } from "../wire/events.ts";
import { printJson, readWireJson, WireError } from "../wire/wire-json.ts";
import { eventHash, sameHash } from "./link.ts";

/** A chain on disk in Theater's format: `events/<hash>` has the JSON of one event, `chains/<actor>` the JSON of its head's hash. */
interface SavedChain {
  /** Oldest first. */
  readonly events: readonly TheaterEvent[];
  /** The hash of the event at which the chain could not be followed further back: its file is absent, too large or invalid. */
  readonly missing?: { readonly hash: string; readonly why: string };
}

interface SavedChainLimits {
  /** One file. Default 64 MiB. */
  readonly fileBytes: number;
  /** All files that are read. Default 512 MiB. */
  readonly bytes: number;
}

const DEFAULT_LIMITS: SavedChainLimits = { fileBytes: 64 * 1_048_576, bytes: 512 * 1_048_576 };
const JSON_LIMITS = { depth: 4, values: 64, members: 64 };
const LOWERCASE_UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const chainFile = (directory: string, actor: string): string => {
  if (!LOWERCASE_UUID.test(actor))
    throw new TypeError(`${JSON.stringify(actor.slice(0, 64))} is not a UUID: save a chain under its actor's id.`);
  return join(directory, "chains", actor);
};

const hasCode = (error: unknown, code: string): boolean => error instanceof Error && "code" in error && error.code === code;

/**
 * Writes a chain, its head last, so that concurrent readers find either the previous chain or this one. Existing events are not written
 * again, so a chain that grew costs only what is new. Each file is written atomically.
 */
export async function saveChain(
  directory: string,
  actor: string,
  events: AsyncIterable<TheaterEvent> | Iterable<TheaterEvent>,
  entropy: Entropy = systemEntropy,
): Promise<void> {
  const head = chainFile(directory, actor);
  await mkdir(join(directory, "events"), { recursive: true });
  await mkdir(join(directory, "chains"), { recursive: true });
  let last: Uint8Array | null = null;
  for await (const event of events) {
    const file = join(directory, "events", hexOf(event.hash));
    if (!(await exists(file))) await writeAtomically(file, printJson(printEvent(event)), entropy);
    last = event.hash;
  }
  await writeAtomically(head, printJson(last), entropy);
}

/**
 * Reads a chain back from its head as far as the files go. An event that is absent, or whose content has another hash than its name,
 * is `missing`. Undefined if no chain of that actor was saved. Follows no links, and reads no more than the limits.
 */
export async function loadChain(
  directory: string,
  actor: string,
  limits: SavedChainLimits = DEFAULT_LIMITS,
): Promise<SavedChain | undefined> {
  const headFile = await readBounded(chainFile(directory, actor), limits.fileBytes);
  if (headFile === undefined) return undefined;
  let next = readHead(headFile);
  let remainingBytes = limits.bytes;
  const events: TheaterEvent[] = [];
  while (next !== null) {
    const hash = hexOf(next);
    const file = await readBounded(join(directory, "events", hash), Math.min(limits.fileBytes, remainingBytes)).catch(reasonOf);
    if (!(file instanceof Uint8Array)) return { events: events.toReversed(), missing: { hash, why: file ?? "Its file is not there." } };
    remainingBytes -= file.length;
    const event = readStoredEvent(file, next);
    if (typeof event === "string") return { events: events.toReversed(), missing: { hash, why: event } };
    events.push(event);
    next = event.parentHash;
  }
  return { events: events.toReversed() };
}

/** Hashes are checked, so the chain cannot form a cycle. */
function readStoredEvent(file: Uint8Array, hash: Uint8Array): TheaterEvent | string {
  try {
    const event = readEvent(readWireJson(file, JSON_LIMITS), "event");
    return sameHash(event.hash, hash) && sameHash(eventHash(event), hash) ? event : "Its content has another hash: the file was changed.";
  } catch (error) {
    return reasonOf(error);
  }
}

function readHead(file: Uint8Array): Uint8Array | null {
  const head = readWireJson(file, JSON_LIMITS);
  if (head !== null && !(head instanceof Uint8Array && isSha1(head)))
    throw new WireError("A chain's file must hold the 20 bytes of a hash, or null.");
  return head;
}

const reasonOf = (error: unknown): string => {
  if (error instanceof WireError || error instanceof RangeError) return error.message;
  throw error;
};

async function readBounded(file: string, maxBytes: number): Promise<Uint8Array | undefined> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: unknown) => {
    if (hasCode(error, "ENOENT")) return undefined;
    if (hasCode(error, "ELOOP")) throw new RangeError("Its file is a link, and none is followed here.", { cause: error });
    throw error;
  });
  if (handle === undefined) return undefined;
  await using _closing = handle;
  const status = await handle.stat();
  if (!status.isFile()) throw new RangeError("Its file is none.");
  if (status.size > maxBytes) throw new RangeError(`Its file has ${status.size} bytes, and ${maxBytes} are read at most.`);
  return handle.readFile();
}

async function exists(file: string): Promise<boolean> {
  const handle = await open(file, "r").catch(() => undefined);
  await handle?.close();
  return handle !== undefined;
}

async function writeAtomically(file: string, content: Uint8Array, entropy: Entropy): Promise<void> {
  const temporary = `${file}.${entropy.hex(8)}.part`;
  try {
    const handle = await open(temporary, "wx");
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
