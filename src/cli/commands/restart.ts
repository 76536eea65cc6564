// Owns: `troupe restart`. Does not own: who performs it (run-operation.ts).
import type { Command } from "commander";
import { moduleOption, resolveActor, addTargetOptions, type WriteOptions } from "../actor-options.ts";
import { output } from "../output.ts";
import { runOperation } from "../run-operation.ts";

export const register = (program: Command): void => {
  addTargetOptions(
    program
      .command("restart")
      .description("Drop an actor from memory and clear its failure; its state stays.")
      .argument("<actor>", "kind/key"),
  )
    .addOption(moduleOption())
    .action(async (actor: string, options: WriteOptions) => {
      await runOperation(options, "restart", { actor: await resolveActor(actor) });
      output(options).show({ ok: true }, () => "Done.");
    });
};
