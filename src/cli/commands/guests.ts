// Owns: `troupe guests`: check and collect. Does not own: what they do (guest-runtime.ts), who performs it (run-operation.ts).
import type { Command } from "commander";
import { isJsonObject, isList, type JsonObject } from "../../core/contract/index.ts";
import { type CommonOptions, addCommonOptions } from "../actor-options.ts";
import { CommandError, EXIT } from "../command-error.ts";
import { runOperation } from "../run-operation.ts";
import { output, short } from "../output.ts";
import { replayText } from "./replay.ts";
import { counted } from "../../core/contract/internal.ts";

const runGuestOperation = async (options: CommonOptions, op: string, args: JsonObject = {}): Promise<JsonObject> => {
  const done = await runOperation(options, op, args);
  return isJsonObject(done) ? done : {};
};

export const register = (program: Command): void => {
  const guests = program.command("guests").description("WebAssembly guests: what their chains and contents are good for.");

  addCommonOptions(
    guests.command("check").description("Run a guest's calls again from its chain, and compare.").argument("<actor>", "guest/name"),
  ).action(async (actor: string, options: CommonOptions) => {
    const done = await runGuestOperation(options, "reexecute", { actor });
    const { run, taken } = done;
    const mismatches = isList(done["mismatches"]) ? done["mismatches"] : [];
    // A call may differ in several ways.
    const differ = new Set(mismatches.map((one) => (isJsonObject(one) ? one["seq"] : one))).size;
    output(options).show(done, () =>
      [
        replayText("call", { run: Number(run), differ, taken: isJsonObject(taken) ? taken : {} }),
        ...mismatches.slice(0, 50).map((one) => `  ${short(one)}`),
      ].join("\n"),
    );
    if (differ > 0)
      throw new CommandError(
        EXIT.unverified,
        "NOT_REPRODUCED",
        `${counted(differ, "call")} ${differ === 1 ? "differs" : "differ"} from what was recorded: another component, or a guest that keeps something besides its state.`,
      );
  });

  addCommonOptions(
    guests
      .command("collect")
      .description("Drop contents that no label, no manifest and no live guest's state names. What old events name goes too."),
  ).action(async (options: CommonOptions) => {
    const done = await runGuestOperation(options, "collect");
    const { kept, dropped, bytes } = done;
    output(options).show(done, () => `${counted(Number(dropped), "content")} dropped (${Number(bytes)} bytes), ${Number(kept)} kept.`);
  });
};
