// Owns: `troupe fork`. Does not own: who performs it (write-operation.ts).
import type { Command } from "commander";
import { omitUndefined } from "../../core/contract/internal.ts";
import { actorId, namedActor, placedInDirectory, unusedModuleOption, type Writing } from "../actor-options.ts";
import { eventNumber } from "../option-parsers.ts";
import { output } from "../output.ts";
import { write } from "../write-operation.ts";

export const register = (program: Command): void => {
  placedInDirectory(
    program
      .command("fork")
      .description("A muted copy of an actor: what it sends by itself is recorded, not delivered.")
      .argument("<actor>", "kind/key")
      .argument("<to>", "kind/new-key"),
  )
    .option("--at <seq>", "as it was at this event", eventNumber)
    .addOption(unusedModuleOption())
    .action(async (actor: string, to: string, options: Writing & { readonly at?: number }) => {
      const forked = await write(options, "fork", {
        actor: await namedActor(actor),
        to: actorId(to),
        ...omitUndefined({ at: options.at }),
      });
      output(options).show({ forked }, () => `${to} begins as ${actor} was.`);
    });
};
