// Owns: `troupe prune`, page by page, by the running server or on the store. Does not own: which actors can be pruned (core/engine).
import { type Command, InvalidArgumentError, Option } from "commander";
import { type ActorId, type Ended, isJsonObject, isList, type Json, systemClock } from "../../core/contract/index.ts";
import { counted, isTexts, omitUndefined } from "../../core/contract/internal.ts";
import type { Pruned, Pruning } from "../../core/engine/index.ts";
import { parseActorId, type CommonOptions, addCommonOptions } from "../actor-options.ts";
import { CommandError, EXIT, usage } from "../command-error.ts";
import { DataDirectory, unreadableActors } from "../data-directory.ts";
import { reportsLostLog } from "../lost-log.ts";
import { parseAge, parseUtcTime } from "../option-parsers.ts";
import { output, table } from "../output.ts";
import { runOperation } from "../run-operation.ts";

interface Options extends CommonOptions {
  readonly endedBefore: number;
  readonly kind?: string;
  readonly dryRun?: boolean;
  readonly engine?: string;
}

/** Replies to keyed calls are stored that long, so an actor is not pruned earlier. */
const MIN_AGE_MS = 24 * 3_600_000;

const whenEnded = (text: string): number => {
  const age = parseAge(text);
  const time = age === undefined ? parseUtcTime(text) : systemClock.now() - age;
  if (time === undefined)
    throw new InvalidArgumentError("It must be an age (30d, 12h, 90m), or a day or time in UTC (2026-01-31, 2026-01-31T12:00Z).");
  return time;
};

export const register = (program: Command): void => {
  addCommonOptions(program.command("prune").description("Take actors away that ended long ago, with all their history."))
    .requiredOption("--ended-before <when>", "an age (30d, 12h, 90m), or a day or time in UTC", whenEnded)
    .option("--kind <kind>", "of this kind only")
    .option("--dry-run", "list those that would go; none does")
    .addOption(new Option("--engine <address>").hideHelp())
    .action(prune);
};

const prune = async ({ endedBefore, kind, dryRun = false, data, json = false, engine }: Options): Promise<void> => {
  if (engine !== undefined)
    throw usage(
      '"prune" is not available on a cluster: actors that ended there stay, with their history. Leave out --engine to prune a data directory.',
    );
  const directory = new DataDirectory(data);
  if (dryRun) directory.requireActors();
  const out = output({ json });
  const listed: Ended[] = [];
  let [actors, events, damaged] = [0, 0, 0];
  for await (const page of prunePages(directory, { before: endedBefore, ...omitUndefined({ kind }) }, dryRun)) {
    for (const { id, seq, endedAt, head } of page.ended) {
      actors += 1;
      events += seq;
      out.value({ id, seq, head, endedAt, pruned: !dryRun });
      if (dryRun && !json) listed.push({ id, seq, head, endedAt });
    }
    damaged += page.damaged.length;
  }
  if (listed.length > 0) out.text(() => endedTable(listed));
  const fate = dryRun ? "would go" : actors === 1 ? "is gone" : "are gone";
  const sum =
    actors === 0 ? "No actor that ended before then is left." : `${counted(actors, "actor")} with ${counted(events, "event")} ${fate}.`;
  out.text(() => (endedBefore > systemClock.now() - MIN_AGE_MS ? `${sum} What ended less than 24 hours ago stays.` : sum));
  if (damaged > 0) throw unreadableActors(damaged);
};

const endedTable = (ended: readonly Ended[]): string =>
  table(
    ["actor", "events", "ended"],
    ended.map(({ id, seq, endedAt }) => [id, String(seq), new Date(endedAt).toISOString()]),
  );

const endedIn = (value: Json): Ended => {
  const { id, head, seq, endedAt } = isJsonObject(value) ? value : {};
  if (typeof id !== "string" || typeof head !== "string" || typeof seq !== "number" || typeof endedAt !== "number") throw invalidReply();
  return { id: parseActorId(id), head, seq, endedAt };
};

const prunedIn = (value: Json): Pruned => {
  const { ended, damaged, next } = isJsonObject(value) ? value : {};
  if (!isList(ended) || !isTexts(damaged)) throw invalidReply();
  const unread: readonly ActorId[] = damaged.map((id) => parseActorId(id));
  return { ended: ended.map(endedIn), damaged: unread, ...(typeof next === "string" ? { next } : {}) };
};

const invalidReply = (): CommandError =>
  new CommandError(EXIT.failed, "FAILED", "The running server's answer is not one: it may be of another version than this command.");

/**
 * Prunes page by page: by the running server, or on the store if none runs, since an ended actor needs no code of its kind. With `dryRun`
 * nothing is removed.
 */
async function* prunePages(directory: DataDirectory, pruning: Pruning, dryRun: boolean): AsyncGenerator<Pruned> {
  for (let page = pruning; ;) {
    const done = dryRun ? await prunable(directory, page) : prunedIn(await runOperation({ data: directory.path }, "prune", { ...page }));
    yield done;
    if (done.next === undefined) return;
    page = { ...pruning, after: done.next };
  }
}

/** What would be pruned, as it is now, also next to a running server. */
const prunable = async (directory: DataDirectory, page: Pruning): Promise<Pruned> => {
  const [{ prune: pruneStore }, { sqliteStore }] = await Promise.all([
    import("../../core/engine/index.ts"),
    import("../../core/store/index.ts"),
  ]);
  await using store = sqliteStore({ directory: directory.path, readOnly: true, ...reportsLostLog });
  return await pruneStore({ store, now: systemClock.now() }, page);
};
