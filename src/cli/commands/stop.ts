// Owns: `troupe stop`. Does not own: who performs it (run-operation.ts).
import type { Command } from "commander";
import { forEachActor, moduleOption, addTargetOptions, type WriteOptions } from "../actor-options.ts";
import { output } from "../output.ts";
import { runOperation } from "../run-operation.ts";

export const register = (program: Command): void => {
  addTargetOptions(program.command("stop").description("End an actor, and its children with it.").argument("<actor...>", "kind/key"))
    .option("--reason <text>", "kept in its last event", "stopped by command")
    .addOption(moduleOption())
    .action(async (actors: string[], options: WriteOptions & { readonly reason: string }) =>
      forEachActor(actors, options.json, async (actor) => {
        await runOperation(options, "stop", { actor, reason: options.reason });
        output(options).show({ ok: true }, () => "Done.");
      }),
    );
};
