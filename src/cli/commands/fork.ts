// Owns: `troupe fork`. Does not own: who performs it (run-operation.ts).
import type { Command } from "commander";
import { omitUndefined } from "../../core/contract/internal.ts";
import { parseActorId, resolveActor, addDirectoryOptions, unusedModuleOption, type WriteOptions } from "../actor-options.ts";
import { eventNumber } from "../option-parsers.ts";
import { output } from "../output.ts";
import { runOperation } from "../run-operation.ts";

export const register = (program: Command): void => {
  addDirectoryOptions(
    program
      .command("fork")
      .description("A muted copy of an actor: what it sends by itself is recorded, not delivered.")
      .argument("<actor>", "kind/key")
      .argument("<to>", "kind/new-key"),
  )
    .option("--at <seq>", "as it was at this event", eventNumber)
    .addOption(unusedModuleOption())
    .action(async (actor: string, to: string, options: WriteOptions & { readonly at?: number }) => {
      const forked = await runOperation(options, "fork", {
        actor: await resolveActor(actor),
        to: parseActorId(to),
        ...omitUndefined({ at: options.at }),
      });
      output(options).show({ forked }, () => `${to} begins as ${actor} was.`);
    });
};
