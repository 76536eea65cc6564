// Owns: `troupe letters`: dead letters, listed, replayed and dropped. Does not own: where they are read (open-store.ts), who replays one
// (run-operation.ts).
import type { Command } from "commander";
import { StoreError } from "../../core/contract/index.ts";
import {
  moduleOption,
  SECRET_HINT,
  type Target,
  addTargetOptions,
  clusterTarget,
  unusedModuleOption,
  type WriteOptions,
} from "../actor-options.ts";
import { usage } from "../command-error.ts";
import { openReader } from "../open-store.ts";
import { output, table } from "../output.ts";
import { runOperation } from "../run-operation.ts";
import { counted } from "../../core/contract/internal.ts";

export const register = (program: Command): void => {
  const letters = program.command("letters").description("Sends that failed three times: list, replay, drop.");
  addTargetOptions(letters.command("list", { isDefault: true }).description("List them.")).action(listLetters);
  addTargetOptions(letters.command("replay").description("Deliver one again.").argument("<id>"))
    .addOption(moduleOption())
    .action((id: string, options: WriteOptions) => settleLetter(id, "replay", options));
  addTargetOptions(letters.command("drop").description("Give one up.").argument("<id>"))
    .addOption(unusedModuleOption())
    .action((id: string, options: WriteOptions) => settleLetter(id, "drop", options));
};

const listLetters = async (options: Target): Promise<void> => {
  const { store } = await openReader(options);
  await using _ = store;
  const out = output(options);
  const damaged: StoreError[] = [];
  const found = await store.letters(Number.MAX_SAFE_INTEGER, (error) => damaged.push(error));
  for (const letter of found) out.value({ id: letter.message.id, ...letter });
  out.text(() =>
    found.length === 0
      ? "No dead letters."
      : table(
          ["id", "to", "action", "since", "why"],
          found.map(({ message, why, at }) => [message.id, message.to, message.action, new Date(at).toISOString(), why]),
        ),
  );
  const [first] = damaged;
  if (first !== undefined && options.engine !== undefined && clusterTarget(options)?.secret === undefined)
    throw usage(`${counted(damaged.length, "letter")} cannot be read: ${SECRET_HINT}`);
  if (first !== undefined) throw new StoreError(first.code, `${counted(damaged.length, "letter")} cannot be read. ${first.message}`);
};

const settleLetter = async (id: string, fate: "replay" | "drop", options: WriteOptions): Promise<void> => {
  await runOperation(options, "letter", { id, fate });
  output(options).show({ ok: true }, () => "Done.");
};
