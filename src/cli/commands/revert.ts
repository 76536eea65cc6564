// Owns: `troupe revert`. Does not own: who performs it (run-operation.ts).
import type { Command } from "commander";
import { resolveActor, addDirectoryOptions, unusedModuleOption, type WriteOptions } from "../actor-options.ts";
import { eventNumber, parseReason } from "../option-parsers.ts";
import { output } from "../output.ts";
import { runOperation } from "../run-operation.ts";

interface RevertOptions extends WriteOptions {
  readonly to: number;
  readonly reason: string;
  readonly force?: boolean;
}

export const register = (program: Command): void => {
  addDirectoryOptions(
    program.command("revert").description("Restore an earlier state, as a new event with a reason.").argument("<actor>", "kind/key"),
  )
    .requiredOption("--to <seq>", "the event whose state is restored", eventNumber)
    .requiredOption("--reason <text>", "why: it is stored with the event", parseReason)
    .option("--force", "also if later events sent messages, which cannot be taken back")
    .addOption(unusedModuleOption())
    .action(async (actor: string, options: RevertOptions) => {
      const { to, force = false } = options;
      const reverted = await runOperation(options, "revert", { actor: await resolveActor(actor), to, reason: options.reason, force });
      output(options).show({ reverted }, () => `${actor} is as it was after event ${to}.`);
    });
};
