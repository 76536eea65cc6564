import { type Command, InvalidArgumentError, Option } from "commander";
import { type Ended, systemClock } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import { type Common, common } from "./actor-options.ts";
import { usage } from "./command-error.ts";
import { DataDirectory, moreUnread } from "./data-directory.ts";
import { ageMs, utcTime } from "./option-parsers.ts";
import { counted, output, table } from "./output.ts";

interface Options extends Common {
  readonly endedBefore: number;
  readonly kind?: string;
  readonly dryRun?: boolean;
  readonly engine?: string;
}

/** A retry of its last calls gets their first replies. */
const STAYS_MS = 24 * 3_600_000;

const whenEnded = (text: string): number => {
  const age = ageMs(text);
  const time = age === undefined ? utcTime(text) : systemClock.now() - age;
  if (time === undefined)
    throw new InvalidArgumentError("It must be an age (30d, 12h, 90m), or a day or time in UTC (2026-01-31, 2026-01-31T12:00Z).");
  return time;
};

export const registerPruneCommand = (program: Command): void => {
  common(program.command("prune").description("Take actors away that ended long ago, with all their history."))
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
  if (!directory.holdsActors()) throw directory.noActors();
  const { prunePages } = await import("./prune-pages.ts");
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
  out.text(() => (endedBefore > systemClock.now() - STAYS_MS ? `${sum} What ended less than 24 hours ago stays.` : sum));
  if (damaged > 0) throw moreUnread(damaged);
};

const endedTable = (ended: readonly Ended[]): string =>
  table(
    ["actor", "events", "ended"],
    ended.map(({ id, seq, endedAt }) => [id, String(seq), new Date(endedAt).toISOString()]),
  );
