import { replayChain, stateAfter } from "../bridges/operate/index.ts";
import { diffStates } from "../core/chain/index.ts";
import type { ActorId, Behaviour, Json } from "../core/contract/index.ts";
import { kindOf } from "../core/contract/internal.ts";
import { namedActor, type Place } from "./actor-options.ts";
import { CommandError, EXIT, noActor, usage } from "./command-error.ts";
import { type Loaded, withModules } from "./load-modules.ts";
import { counted, output, replayText, short, table, visible } from "./output.ts";
import { openToRead, type Reader } from "./read-source.ts";

const behaviourIn = (loaded: Loaded, id: ActorId, modules: readonly string[]): Behaviour => {
  const kind = kindOf(id);
  const found = loaded.parts.flatMap((part) => part.kinds).find((behaviour) => behaviour.kind === kind);
  if (found === undefined) throw usage(`None of ${modules.join(", ")} exports the kind ${kind}.`);
  return found;
};

/** Why events of other versions were not run again, and what would run them. */
const versionsText = (kind: string, written: ReadonlySet<number>, version: number): string =>
  `The module has version ${version} of ${kind}, and only the code that wrote an event can give the same result. To check events of ${written.size === 1 ? "version" : "versions"} ${[...written].toSorted((one, other) => one - other).join(", ")}, name a module of that version with --module.`;

/** How many events it has. Throws `NOT_FOUND`. */
const lengthOf = async (store: Reader, id: ActorId): Promise<number> => {
  const found = await store.state(id);
  if (found === undefined) throw noActor(id, store.place);
  return found.seq;
};

export const replay = async (
  actor: string,
  options: Place & { readonly to?: number; readonly module?: readonly string[] },
): Promise<void> => {
  const id = await namedActor(actor);
  const { store } = await openToRead(options);
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

export const diff = async (actor: string, from: number, to: number, options: Place): Promise<void> => {
  const id = await namedActor(actor);
  const { store } = await openToRead(options);
  await using _ = store;
  await lengthOf(store, id);
  const stateOf = async (seq: number): Promise<Json> => (await stateAfter(store, id, seq)).state;
  // The later one first: what is wrong about it is told.
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
