// Owns: `troupe checkpoint`. Does not own: who performs it (run-operation.ts), the key that signs (operations.ts).
import { resolve } from "node:path";
import type { Command } from "commander";
import { isJsonObject, type Json } from "../../core/contract/index.ts";
import { forEachActor, addDirectoryOptions, unusedModuleOption, type WriteOptions } from "../actor-options.ts";
import { nonEmptyPath } from "../option-parsers.ts";
import { output, textOrElse } from "../output.ts";
import { runOperation } from "../run-operation.ts";
import { counted } from "../../core/contract/internal.ts";

interface CheckpointOptions extends WriteOptions {
  readonly key?: string;
  readonly erase?: boolean;
}

export const register = (program: Command): void => {
  addDirectoryOptions(
    program
      .command("checkpoint")
      .description("Write the whole state as an event, signed if there is a key.")
      .argument("<actor...>", "kind/key"),
  )
    .option("--key <file>", "PEM of an Ed25519 private key to sign with; a running server reads the file itself", nonEmptyPath("a file"))
    .option("--erase", "erase the bodies before it; headers stay, and the chain still verifies")
    .addOption(unusedModuleOption())
    .action(checkpoint);
};

const checkpoint = (actors: readonly string[], options: CheckpointOptions): Promise<void> =>
  forEachActor(actors, options.json, async (actor) => {
    const done = await runOperation(options, "checkpoint", {
      actor,
      erase: options.erase === true,
      ...(options.key === undefined ? {} : { keyFile: resolve(options.key) }),
    });
    output(options).show({ checkpoint: done }, () => checkpointText(actor, done));
  });

const checkpointText = (actor: string, done: Json): string => {
  const { seq, head, signed, erased } = isJsonObject(done) ? done : {};
  const bodies = erased === 0 || typeof erased !== "number" ? "" : `; ${counted(erased, "body", "bodies")} erased`;
  return `${actor} has a checkpoint at event ${typeof seq === "number" ? seq : "?"}, head ${textOrElse(head, "?").slice(0, 12)}, ${signed === true ? "signed" : "not signed"}${bodies}.`;
};
