// Owns: `troupe diff`. Does not own: how states are compared (core/chain).
import type { Command } from "commander";
import type { Json } from "../../core/contract/index.ts";
import { resolveActor, type Target, addTargetOptions } from "../actor-options.ts";
import { openReader } from "../open-store.ts";
import { eventNumber } from "../option-parsers.ts";
import { output, short, table } from "../output.ts";
import { lengthOf } from "./replay.ts";

export const register = (program: Command): void => {
  addTargetOptions(
    program
      .command("diff")
      .description("What changed between two events.")
      .argument("<actor>", "kind/key")
      .argument("<from>", "an event's number", eventNumber)
      .argument("<to>", "an event's number", eventNumber),
  ).action(diff);
};

const diff = async (actor: string, from: number, to: number, options: Target): Promise<void> => {
  const [{ stateAfter }, { diffStates }] = await Promise.all([
    import("../../bridges/operate/index.ts"),
    import("../../core/chain/index.ts"),
  ]);
  const id = await resolveActor(actor);
  const { store } = await openReader(options);
  await using _ = store;
  await lengthOf(store, id);
  const stateOf = async (seq: number): Promise<Json> => (await stateAfter(store, id, seq)).state;
  // The later one first, since its error is the one to report.
  const later = await stateOf(Math.max(from, to));
  const earlier = await stateOf(Math.min(from, to));
  const differences = from <= to ? diffStates(earlier, later) : diffStates(later, earlier);
  output(options).show({ actor: id, from, to, differences: [...differences] }, () =>
    differences.length === 0
      ? "No difference."
      : table(
          ["where", "before", "after"],
          differences.map(({ path, before, after }) => [path === "" ? "/" : path, short(before), short(after)]),
        ),
  );
};
