// Owns: `troupe revert`. Does not own: who performs it (write-operation.ts).
import type { Command } from "commander";
import { namedActor, placedInDirectory, unusedModuleOption, type Writing } from "../actor-options.ts";
import { eventNumber, reason } from "../option-parsers.ts";
import { output } from "../output.ts";
import { write } from "../write-operation.ts";

interface RevertOptions extends Writing {
  readonly to: number;
  readonly reason: string;
  readonly force?: boolean;
}

export const register = (program: Command): void => {
  placedInDirectory(
    program.command("revert").description("Restore an earlier state, as a new event with a reason.").argument("<actor>", "kind/key"),
  )
    .requiredOption("--to <seq>", "the event whose state is restored", eventNumber)
    .requiredOption("--reason <text>", "why: it is stored with the event", reason)
    .option("--force", "also if later events sent messages, which cannot be taken back")
    .addOption(unusedModuleOption())
    .action(async (actor: string, options: RevertOptions) => {
      const { to, force = false } = options;
      const reverted = await write(options, "revert", { actor: await namedActor(actor), to, reason: options.reason, force });
      output(options).show({ reverted }, () => `${actor} is as it was after event ${to}.`);
    });
};
