// Owns: `troupe index`: list, rebuild and verify. (index.ts would be the entrance of a folder.) Does not own: reading indexes (find.ts),
// who performs it (run-operation.ts).
import type { Command } from "commander";
import { isJsonObject, isList } from "../../core/contract/index.ts";
import { moduleOption, type Target, addTargetOptions, type WriteOptions } from "../actor-options.ts";
import { CommandError, EXIT } from "../command-error.ts";
import { output, table } from "../output.ts";
import { runOperation } from "../run-operation.ts";
import { cell, openIndexes } from "./find.ts";
import { counted } from "../../core/contract/internal.ts";

export const register = (program: Command): void => {
  const index = program.command("index").description("Indexes over the contents of actors: list, rebuild, verify.");
  addTargetOptions(index.command("list", { isDefault: true }).description("List them.")).action(list);
  addTargetOptions(index.command("rebuild").description("Compute all rows again.").argument("[index...]", "default: all"))
    .addOption(moduleOption())
    .action(rebuild);
  addTargetOptions(
    index.command("verify").description("Compare the rows with the states of the actors.").argument("[index...]", "default: all"),
  )
    .addOption(moduleOption())
    .action(verify);
};

/** The named indexes, or all. */
const namesOf = async (options: Target, names: readonly string[]): Promise<readonly string[]> => {
  if (names.length > 0) return names;
  await using reader = await openIndexes(options);
  return (await reader.list()).map(({ name }) => name);
};

const list = async (options: Target): Promise<void> => {
  await using reader = await openIndexes(options);
  const indexes = await reader.list();
  const out = output(options);
  for (const { definition: _, ...index } of indexes) out.value(index);
  out.text(() =>
    indexes.length === 0
      ? "No indexes."
      : table(
          ["index", "kind", "rows", "state", "order", "fields"],
          indexes.map(({ name, kind, rows, state, order = "key", fields }) => [name, kind, String(rows), state, order, fields.join(", ")]),
        ),
  );
};

const rebuild = async (names: readonly string[], options: WriteOptions): Promise<void> => {
  const indexes = await namesOf(options, names);
  if (indexes.length === 0) output(options).text(() => "No indexes.");
  for (const index of indexes) {
    const actors = await runOperation(options, "index-rebuild", { index });
    output(options).show({ index, actors }, () => `${index}: rebuilt from ${counted(Number(actors), "actor")}.`);
  }
};

const verify = async (names: readonly string[], options: WriteOptions): Promise<void> => {
  const indexes = await namesOf(options, names);
  if (indexes.length === 0) output(options).text(() => "No indexes.");
  let flawed = 0;
  for (const index of indexes) {
    const verdict = await runOperation(options, "index-verify", { index });
    const found = isJsonObject(verdict) ? verdict : {};
    const wrong = Number(found["flawed"] ?? 0);
    flawed += wrong;
    const flaws = isList(found["flaws"]) ? found["flaws"] : [];
    const lines = flaws.map((flaw) => (isJsonObject(flaw) ? `  ${cell(flaw["id"])}: ${cell(flaw["flaw"])}` : ""));
    const actors = counted(Number(found["actors"] ?? 0), "actor");
    output(options).show(found, () =>
      wrong === 0 ? `${index}: whole, ${actors}.` : [`${index}: ${counted(wrong, "row")} of ${actors} wrong.`, ...lines].join("\n"),
    );
  }
  if (flawed > 0)
    throw new CommandError(
      EXIT.unverified,
      "INDEX_FLAWED",
      `${counted(flawed, "row differs", "rows differ")} from the states: run "troupe index rebuild".`,
    );
};
