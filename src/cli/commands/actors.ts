// Owns: `troupe actors`: which actors or kinds are listed, in which order. Does not own: where they are read (open-store.ts).
import { type Command, Option } from "commander";
import { actorsOf, eventsOf, type Which } from "../../bridges/operate/paging.ts";
import type { ActorId, Change } from "../../core/contract/index.ts";
import { kindOf, omitUndefined } from "../../core/contract/internal.ts";
import { parseActorId, type Target, addTargetOptions } from "../actor-options.ts";
import { type DataDirectory, unreadableActors } from "../data-directory.ts";
import { openReader, type Reader } from "../open-store.ts";
import { wholeNumber } from "../option-parsers.ts";
import { output, type Output, table } from "../output.ts";

/** A table is held in memory until its columns are known. */
const TABLE_ROWS = 10_000;

/** Actors per page of the store. */
const PAGE = 1_000;

const ORDERS = ["name", "events", "bytes"] as const;
type Order = (typeof ORDERS)[number];

interface Options extends Target {
  readonly kind?: string;
  readonly after?: ActorId;
  readonly byKind?: boolean;
  readonly bytes?: boolean;
  readonly sort: Order;
  readonly limit?: number;
}

/** What is listed, and from which store. */
interface Listing {
  readonly store: Reader;
  readonly directory: DataDirectory | undefined;
  readonly options: Options;
  readonly which: Which;
}

/** What a row is sorted by. */
interface Sized {
  readonly events: number;
  /** Size of the texts of its events. Absent unless requested, since it takes reading them. */
  readonly bytes?: number;
  /** Absent if it is not known which kinds are served. */
  readonly served?: boolean;
}

interface ActorRow extends Sized {
  readonly actor: Change;
}

interface KindRow extends Sized {
  readonly kind: string;
  readonly actors: number;
}

export const register = (program: Command): void => {
  addTargetOptions(program.command("actors").description("List the actors in a data directory or a cluster."))
    .option("--kind <kind>", "of this kind only")
    .option("--after <actor>", "only those that come after this one by name", parseActorId)
    .option("--by-kind", "one line per kind, and the size of the files")
    .option("--bytes", "how much history each keeps; reads all of it")
    .addOption(new Option("--sort <order>", "events or bytes: most first").choices(ORDERS).default("name"))
    .option("--limit <n>", `at most so many lines (default: ${TABLE_ROWS}; with --json all)`, wholeNumber(1))
    .action(async (options: Options) => {
      const { store, directory } = await openReader(options);
      await using _ = store;
      const out = output(options);
      let unread = 0;
      const which: Which = { ...pageOptions(options), damaged: () => (unread += 1) };
      const listing: Listing = { store, directory, options, which };
      await (options.byKind === true ? listKinds : listActors)(listing, out);
      if (unread > 0) throw unreadableActors(unread);
    });
};

const noneIn = ({ store, options: { kind, after } }: Listing): string =>
  kind === undefined && after === undefined && store.place !== undefined ? `No actors in ${store.place}.` : "No actors.";

const listActors = async (listing: Listing, out: Output): Promise<void> => {
  const rows: ActorRow[] = [];
  const keep = (row: ActorRow): void => {
    if (out.json) out.value(actorJson(row));
    else rows.push(row);
  };
  const isMore = await select(actorRows(listing), listing.options, out, keep);
  out.text(() => (rows.length === 0 ? noneIn(listing) : actorTable(rows)));
  if (isMore) out.note("There are more: --limit says how many to list.");
};

const listKinds = async (listing: Listing, out: Output): Promise<void> => {
  const { directory, options } = listing;
  const kinds = new Map<string, KindRow>();
  for await (const { actor, events, bytes, served } of actorRows(listing)) {
    const kind = kindOf(actor.id);
    const sum = kinds.get(kind) ?? { kind, actors: 0, events: 0, ...(bytes === undefined ? {} : { bytes: 0 }) };
    kinds.set(kind, {
      kind,
      actors: sum.actors + 1,
      events: sum.events + events,
      ...(bytes === undefined ? {} : { bytes: (sum.bytes ?? 0) + bytes }),
      ...omitUndefined({ served }),
    });
  }
  const rows: KindRow[] = [];
  await select(kinds.values(), options, out, (row) => rows.push(row));
  const files = directory?.sizes() ?? {};
  for (const row of rows) out.value(row);
  out.text(() => (rows.length === 0 ? noneIn(listing) : kindTable(rows)));
  if (directory === undefined) return;
  out.value({ directory: directory.path, files });
  const sizes = Object.entries(files).map(([name, size]) => `${name} ${grouped(size)} bytes`);
  out.note(`Files in ${directory.path}: ${sizes.join(", ")}.`);
};

async function* actorRows({ store, directory, options, which }: Listing): AsyncGenerator<ActorRow> {
  const kinds = directory?.readNote()?.kinds;
  const served = kinds === undefined ? undefined : new Set(kinds);
  const withBytes = options.bytes === true || options.sort === "bytes";
  for await (const actor of actorsOf(store, which))
    yield {
      actor,
      events: actor.seq,
      ...(withBytes ? { bytes: await historyBytes(store, actor.id) } : {}),
      ...(served === undefined ? {} : { served: served.has(kindOf(actor.id)) }),
    };
}

/** A page no longer than the limit needs, with one more to know whether there are more. */
const pageOptions = ({ kind, after, sort, limit, byKind }: Options): Which => ({
  ...omitUndefined({ kind, after }),
  ...(limit === undefined || limit >= PAGE || sort !== "name" || byKind === true ? {} : { page: limit + 1 }),
});

const historyBytes = async (store: Reader, id: ActorId): Promise<number> => {
  let bytes = 0;
  for await (const { header, body = "" } of eventsOf(store, id)) bytes += Buffer.byteLength(header) + Buffer.byteLength(body);
  return bytes;
};

/** Hands over as many rows as the limit allows, in order. True if there are more. Sorting by size reads all rows and holds about twice the limit. */
const select = async <R extends Sized>(
  rows: AsyncIterable<R> | Iterable<R>,
  { sort, limit }: Options,
  { json }: Output,
  keep: (row: R) => void,
): Promise<boolean> => {
  const most = limit ?? (json ? Number.POSITIVE_INFINITY : TABLE_ROWS);
  let seen = 0;
  if (sort === "name") {
    for await (const row of rows) {
      if (seen === most) return true;
      keep(row);
      seen += 1;
    }
    return false;
  }
  const bySize = (one: R, other: R): number => (other[sort] ?? 0) - (one[sort] ?? 0);
  let largest: R[] = [];
  for await (const row of rows) {
    seen += 1;
    largest.push(row);
    if (largest.length > 2 * most + TABLE_ROWS) largest = largest.toSorted(bySize).slice(0, most);
  }
  for (const row of largest.toSorted(bySize).slice(0, most)) keep(row);
  return seen > most;
};

const actorJson = ({ actor, bytes, served }: ActorRow): object => ({
  id: actor.id,
  seq: actor.seq,
  head: actor.head,
  status: actor.status,
  ...omitUndefined({ bytes, served }),
});

const actorTable = (rows: readonly ActorRow[]): string =>
  table(
    ["actor", "events", ...bytesHead(rows), "status", "head"],
    rows.map(({ actor, bytes, served }) => [
      actor.id,
      String(actor.seq),
      ...bytesCell(bytes),
      served === false && actor.status !== "stopped" ? `${actor.status}, not served` : actor.status,
      actor.head.slice(0, 12),
    ]),
  );

const kindTable = (rows: readonly KindRow[]): string =>
  table(
    ["kind", "actors", "events", ...bytesHead(rows), ...(rows.some(({ served }) => served === false) ? [""] : [])],
    rows.map(({ kind, actors, events, bytes, served }) => [
      kind,
      String(actors),
      String(events),
      ...bytesCell(bytes),
      served === false ? "not served" : "",
    ]),
  );

const bytesHead = (rows: readonly Sized[]): readonly string[] => (rows.some(({ bytes }) => bytes !== undefined) ? ["bytes"] : []);
const bytesCell = (bytes: number | undefined): readonly string[] => (bytes === undefined ? [] : [grouped(bytes)]);
const grouped = (bytes: number): string => bytes.toLocaleString("en-US");
