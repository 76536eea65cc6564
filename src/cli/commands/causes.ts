// Owns: `troupe causes`. Does not own: how causes are found (core/chain).
import type { Command } from "commander";
import type { Cause } from "../../core/chain/index.ts";
import { resolveActor, type Target, addTargetOptions } from "../actor-options.ts";
import { noActor, notFound, usage } from "../command-error.ts";
import { openReader, type Reader } from "../open-store.ts";
import { oneLine, output, paint } from "../output.ts";
import { counted } from "../../core/contract/internal.ts";

export const register = (program: Command): void => {
  addTargetOptions(
    program
      .command("causes")
      .description("What an event came from, and what followed from it on other actors.")
      .argument("<event>", "an event's id, an actor's event such as counter/main#7, or an actor: its last event"),
  ).action(printCauses);
};

const causeLines = (cause: Cause, depth = 0): readonly string[] => [
  `${"  ".repeat(depth)}${cause.header.actor} #${cause.header.seq} ${oneLine(cause.header.type)} ${paint("dim", cause.id.slice(0, 12))}`,
  ...cause.effects.flatMap((effect) => causeLines(effect, depth + 1)),
  ...(cause.cut ? [`${"  ".repeat(depth + 1)}…`] : []),
];

/** Resolves an event's id, `counter/main#7`, or `counter/main` for its last event. */
const namedEvent = async (text: string, store: Reader): Promise<string> => {
  if (!text.includes("/")) return text;
  const [actor = "", number] = text.split("#");
  const id = await resolveActor(actor);
  const state = await store.state(id);
  if (state === undefined) throw noActor(id, store.place);
  if (number === undefined) return state.head;
  const seq = Number(number);
  if (!Number.isSafeInteger(seq) || seq < 1) throw usage(`${JSON.stringify(number)} is not the number of an event: write ${id}#7.`);
  const { readHeader } = await import("../../core/chain/index.ts");
  const [event] = await store.events(id, seq - 1, 1);
  if (event === undefined || readHeader(event).seq !== seq)
    throw notFound(`${id} has ${counted(state.seq, "event")}, and none with the number ${seq}.`);
  return event.id;
};

const printCauses = async (named: string, options: Target): Promise<void> => {
  const { store } = await openReader(options);
  await using _ = store;
  const { causeTree, rootCause } = await import("../../core/chain/index.ts");
  const root = await rootCause(await namedEvent(named, store), store);
  const tree = root === undefined ? undefined : await causeTree(root, store);
  if (tree === undefined)
    throw notFound(
      `There is no event ${named}: name an event's id, an actor (its last event), or an actor's event such as counter/main#7.`,
    );
  output(options).show(tree, () => causeLines(tree).join("\n"));
};
