import { isBag } from "../contract/index.ts";
import type { Command } from "commander";
import { CommandError, EXIT } from "./exit-code.ts";
import { common, type Common } from "./options.ts";
import { counted, output, short, visible } from "./output.ts";

const ask = async (
  options: Common,
  op: string,
  args: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, unknown>>> => {
  const done = await (await import("./write.ts")).write(options, op, args);
  return isBag(done) ? done : {};
};

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const registerGuestCommands = (program: Command): void => {
  const guests = program.command("guests").description("WebAssembly guests: what their chains and contents are good for.");

  common(
    guests.command("check").description("Run a guest's calls again from its chain, and compare.").argument("<actor>", "guest/name"),
  ).action(async (actor: string, options: Common) => {
    const done = await ask(options, "reexecute", { actor });
    const { run, taken } = done;
    const mismatches = list(done["mismatches"]);
    const from = Object.entries(typeof taken === "object" && taken !== null ? taken : {}).filter(([, count]) => count > 0);
    output(options).show(
      { ...done },
      () =>
        `${String(run)} calls run again, ${mismatches.length} differ; taken from the record: ${from.map(([why, count]) => `${count} ${why}`).join(", ") || "none"}.${mismatches
          .slice(0, 50)
          .map((one) => `\n  ${visible(short(one))}`)
          .join("")}`,
    );
    if (mismatches.length > 0)
      throw new CommandError(
        EXIT.unverified,
        "NOT_REPRODUCED",
        `${mismatches.length} calls differ from what was recorded: another component, or a guest that keeps something besides its state.`,
      );
  });

  common(
    guests
      .command("collect")
      .description("Drop contents that no label, no manifest and no live guest's state names. What old events name goes too."),
  ).action(async (options: Common) => {
    const done = await ask(options, "collect");
    const { kept, dropped, bytes } = done;
    output(options).show(
      { ...done },
      () => `${counted(Number(dropped), "content")} dropped (${String(bytes)} bytes), ${String(kept)} kept.`,
    );
  });
};
