// Owns: `troupe replay`, and the sentences about turns and calls that ran again. Does not own: running them (bridges/operate).
import type { Command } from "commander";
import type { ActorId, Behaviour, JsonObject } from "../../core/contract/index.ts";
import { counted, kindOf } from "../../core/contract/internal.ts";
import { resolveActor, type Target, addTargetOptions } from "../actor-options.ts";
import { CommandError, EXIT, noActor, usage } from "../command-error.ts";
import { type LoadedModules, withModules } from "../load-modules.ts";
import { openReader, type Reader } from "../open-store.ts";
import { eventNumber } from "../option-parsers.ts";
import { output, short, visible } from "../output.ts";

interface ReplayOptions extends Target {
  readonly to?: number;
  readonly module?: readonly string[];
}

export const register = (program: Command): void => {
  addTargetOptions(
    program
      .command("replay")
      .description("The state at an event; with a module, pure turns run again and compared.")
      .argument("<actor>", "kind/key"),
  )
    .option("--to <seq>", "the event to stop at", eventNumber)
    .option("--module <module...>", "run the turns again with this code")
    .action(replay);
};

const behaviourIn = (loaded: LoadedModules, id: ActorId, modules: readonly string[]): Behaviour => {
  const kind = kindOf(id);
  const found = loaded.parts.flatMap((part) => part.kinds).find((behaviour) => behaviour.kind === kind);
  if (found === undefined) throw usage(`None of ${modules.join(", ")} exports the kind ${kind}.`);
  return found;
};

/** Why events of other versions were not run again, and how to run them. */
const versionsText = (kind: string, written: ReadonlySet<number>, version: number): string =>
  `The module has version ${version} of ${kind}, and only the code that wrote an event can give the same result. To check events of ${written.size === 1 ? "version" : "versions"} ${[...written].toSorted((one, other) => one - other).join(", ")}, name a module of that version with --module.`;

/** The number of its events. Throws `NOT_FOUND`. */
export const lengthOf = async (store: Reader, id: ActorId): Promise<number> => {
  const found = await store.state(id);
  if (found === undefined) throw noActor(id, store.place);
  return found.seq;
};

const replay = async (actor: string, options: ReplayOptions): Promise<void> => {
  const { replayChain, stateAfter } = await import("../../bridges/operate/index.ts");
  const id = await resolveActor(actor);
  const { store } = await openReader(options);
  await using _ = store;
  const out = output(options);
  const { module, to } = options;
  const length = await lengthOf(store, id);
  const seq = to ?? length;
  const { state, version } = await stateAfter(store, id, seq);
  if (module === undefined) {
    out.show({ actor: id, seq, version, state }, () => visible(JSON.stringify(state, null, 2)));
    return;
  }
  const { run, taken, differ, mismatches, otherVersions, moduleVersion } = await withModules(module, options, async (loaded) => {
    const behaviour = behaviourIn(loaded, id, module);
    return { ...(await replayChain(store, id, behaviour, { to: seq })), moduleVersion: behaviour.version };
  });
  out.show({ actor: id, seq, version, state, run, taken, differ, mismatches }, () =>
    [
      replayText("turn", { run, differ, taken }),
      ...(taken.version > 0 ? [versionsText(kindOf(id), otherVersions, moduleVersion)] : []),
      ...mismatches.slice(0, 50).map((one) => `  event ${one.seq}: ${one.what} was ${short(one.recorded)}, is ${short(one.now)}`),
    ].join("\n"),
  );
  if (differ > 0)
    throw new CommandError(
      EXIT.unverified,
      "NOT_REPRODUCED",
      `${counted(differ, "turn")} ${differ === 1 ? "differs" : "differ"} from what was recorded: the code has changed, or a turn is not pure.`,
    );
};

const isOrAre = (count: number): string => (count === 1 ? "is" : "are");

/** Why events were not run again, to follow their number. */
const NOT_RUN: Readonly<Record<string, (count: number) => string>> = {
  work: (count) => `${isOrAre(count)} work, which is not repeated`,
  version: (count) => `${count === 1 ? "was" : "were"} written by another version of the kind`,
  redacted: (count) => `${count === 1 ? "has" : "have"} a secret that is not recorded`,
  erased: (count) => `${isOrAre(count)} erased, or ${count === 1 ? "follows" : "follow"} an erased one`,
  engine: (count) => `${isOrAre(count)} the engine's own`,
  collected: (count) => `${count === 1 ? "needs" : "need"} contents that were collected`,
  lost: (count) => `did not record how ${count === 1 ? "its call" : "their calls"} ended`,
  other: () => "ran no guest",
};

/** The result of a replay in sentences: how much ran again, how much differs, and why the rest did not run. */
export const replayText = (
  one: "turn" | "call",
  { run, differ, taken }: { readonly run: number; readonly differ: number; readonly taken: JsonObject },
): string => {
  const ran = run === 0 ? `No ${one} was run again.` : `${counted(run, one)} ${run === 1 ? "was" : "were"} run again`;
  const result =
    differ === 0
      ? run === 1
        ? " and gave what is recorded."
        : " and all gave what is recorded."
      : `, and ${differ} ${differ === 1 ? "differs" : "differ"} from the record.`;
  const reasons = Object.entries(taken)
    .map(([why, count]): [string, number] => [why, Number(count)])
    .filter(([, count]) => count > 0)
    .map(([why, count]) => `${count} ${NOT_RUN[why]?.(count) ?? why}`);
  const left = Object.values(taken).reduce<number>((sum, count) => sum + Number(count), 0);
  return [
    run === 0 ? ran : ran + result,
    ...(left === 0
      ? []
      : [`${counted(left, run === 0 ? "event" : "other event")} ${left === 1 ? "was" : "were"} not run again: ${reasons.join("; ")}.`]),
  ].join(" ");
};
