// Owns: `troupe stop`. Does not own: who performs it (write-operation.ts).
import type { Command } from "commander";
import { eachActor, moduleOption, placed, type Writing } from "../actor-options.ts";
import { output } from "../output.ts";
import { write } from "../write-operation.ts";

export const register = (program: Command): void => {
  placed(program.command("stop").description("End an actor, and its children with it.").argument("<actor...>", "kind/key"))
    .option("--reason <text>", "kept in its last event", "stopped by command")
    .addOption(moduleOption())
    .action(async (actors: string[], options: Writing & { readonly reason: string }) =>
      eachActor(actors, options.json, async (actor) => {
        await write(options, "stop", { actor, reason: options.reason });
        output(options).show({ ok: true }, () => "Done.");
      }),
    );
};
