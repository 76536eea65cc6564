import { resolve } from "node:path";
import type { Command } from "commander";
import { isJsonObject, type Json, type Receipt } from "../core/contract/index.ts";
import { tryParseJson, omitUndefined } from "../core/contract/internal.ts";
import {
  actorId,
  eachActor,
  namedActor,
  type Place,
  placed,
  placedInDirectory,
  unusedModuleOption,
  type Writing,
} from "./actor-options.ts";
import { usage } from "./command-error.ts";
import { naming, reason, wholeNumber } from "./option-parsers.ts";
import { output } from "./output.ts";
import { textOr } from "./text-or.ts";
import { write } from "./write-operation.ts";

// What a command does is loaded when it runs: a short one spends most of its time loading.

const sequence = (text: string): number => {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw usage(`An event is named by its number, from 1 on, not "${text}".`);
  return number;
};

const readReceipt = (text: string): Receipt => {
  const parsed = tryParseJson(text);
  if (
    !isJsonObject(parsed) ||
    typeof parsed["actor"] !== "string" ||
    typeof parsed["seq"] !== "number" ||
    typeof parsed["head"] !== "string"
  )
    throw usage('A receipt is the JSON of a result\'s _meta["troupe/receipt"]: {"actor":…,"seq":…,"head":…}.');
  return { actor: parsed["actor"], seq: parsed["seq"], head: parsed["head"] };
};

const checkpointText = (actor: string, done: Json): string => {
  const { seq, head, signed, erased } = isJsonObject(done) ? done : {};
  const bodies = erased === 0 || typeof erased !== "number" ? "" : `; ${erased === 1 ? "1 body" : `${erased} bodies`} erased`;
  return `${actor} has a checkpoint at event ${typeof seq === "number" ? seq : "?"}, head ${textOr(head, "?").slice(0, 12)}, ${signed === true ? "signed" : "not signed"}${bodies}.`;
};

export const registerChainCommands = (program: Command): void => {
  placed(program.command("chain").description("Print an actor's events.").argument("<actor>", "kind/key"))
    .option("--after <seq>", "only those after this event", wholeNumber(0), 0)
    .option("--follow", "go on as they come, until interrupted")
    .option("--export", "each event as one JSON line with its texts as they were hashed")
    .action(async (actor: string, options: Place & { after: number; follow?: boolean; export?: boolean }) =>
      (await import("./print-chain.ts")).printChain(actor, options),
    );

  placed(program.command("verify").description("Check every hash and link of one chain, or of all.").argument("[actor]", "kind/key"))
    .option(
      "--receipt <json>",
      "from a result: proves that nothing was rolled back since; repeatable",
      (text: string, before: readonly Receipt[] | undefined) => [...(before ?? []), readReceipt(text)],
    )
    .option("--public-key <file>", "PEM: checkpoints must be signed by its private half", naming("a file"))
    .action(async (actor: string | undefined, options: Place & { receipt?: readonly Receipt[]; publicKey?: string }) =>
      (await import("./verify-chains.ts")).verifyChains(actor, { receipt: [], ...options }),
    );

  placed(
    program
      .command("replay")
      .description("The state at an event; with a module, pure turns run again and compared.")
      .argument("<actor>", "kind/key"),
  )
    .option("--to <seq>", "the event to stop at", sequence)
    .option("--module <module...>", "run the turns again with this code")
    .action(async (actor: string, options: Place & { to?: number; module?: string[] }) =>
      (await import("./replay.ts")).replay(actor, options),
    );

  placed(
    program
      .command("diff")
      .description("What changed between two events.")
      .argument("<actor>", "kind/key")
      .argument("<from>", "an event's number", sequence)
      .argument("<to>", "an event's number", sequence),
  ).action(async (actor: string, from: number, to: number, options: Place) => (await import("./replay.ts")).diff(actor, from, to, options));

  placedInDirectory(
    program
      .command("fork")
      .description("A muted copy of an actor: what it sends by itself is recorded, not delivered.")
      .argument("<actor>", "kind/key")
      .argument("<to>", "kind/new-key"),
  )
    .option("--at <seq>", "as it was at this event", sequence)
    .addOption(unusedModuleOption())
    .action(async (actor: string, to: string, options: Writing & { at?: number }) => {
      const forked = await write(options, "fork", {
        actor: await namedActor(actor),
        to: actorId(to),
        ...omitUndefined({ at: options.at }),
      });
      output(options).show({ forked }, () => `${to} begins as ${actor} was.`);
    });

  placedInDirectory(
    program.command("revert").description("Restore an earlier state, as a new event with a reason.").argument("<actor>", "kind/key"),
  )
    .requiredOption("--to <seq>", "the event whose state is restored", sequence)
    .requiredOption("--reason <text>", "why: it is stored with the event", reason)
    .option("--force", "also if later events sent messages, which cannot be taken back")
    .addOption(unusedModuleOption())
    .action(async (actor: string, options: Writing & { to: number; reason: string; force?: boolean }) => {
      const { to, force = false } = options;
      const reverted = await write(options, "revert", { actor: await namedActor(actor), to, reason: options.reason, force });
      output(options).show({ reverted }, () => `${actor} is as it was after event ${to}.`);
    });

  placedInDirectory(
    program
      .command("checkpoint")
      .description("Write the whole state as an event, signed if there is a key.")
      .argument("<actor...>", "kind/key"),
  )
    .option("--key <file>", "PEM of an Ed25519 private key to sign with; a running server reads the file itself", naming("a file"))
    .option("--erase", "erase the bodies before it; headers stay, and the chain still verifies")
    .addOption(unusedModuleOption())
    .action(async (actors: string[], options: Writing & { key?: string; erase?: boolean }) =>
      eachActor(actors, options.json, async (actor) => {
        const done = await write(options, "checkpoint", {
          actor,
          erase: options.erase === true,
          ...(options.key === undefined ? {} : { keyFile: resolve(options.key) }),
        });
        output(options).show({ checkpoint: done }, () => checkpointText(actor, done));
      }),
    );

  placed(
    program
      .command("causes")
      .description("What an event came from, and what followed from it on other actors.")
      .argument("<event>", "an event's id, an actor's event such as counter/main#7, or an actor: its last event"),
  ).action(async (event: string, options: Place) => (await import("./print-causes.ts")).printCauses(event, options));
};
