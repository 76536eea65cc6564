// Owns: `troupe restart`. Does not own: who performs it (write-operation.ts).
import type { Command } from "commander";
import { moduleOption, namedActor, placed, type Writing } from "../actor-options.ts";
import { output } from "../output.ts";
import { write } from "../write-operation.ts";

export const register = (program: Command): void => {
  placed(
    program
      .command("restart")
      .description("Drop an actor from memory and clear its failure; its state stays.")
      .argument("<actor>", "kind/key"),
  )
    .addOption(moduleOption())
    .action(async (actor: string, options: Writing) => {
      await write(options, "restart", { actor: await namedActor(actor) });
      output(options).show({ ok: true }, () => "Done.");
    });
};
