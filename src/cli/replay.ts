import { diffStates, type Mismatch, readBody, Reexecuting, stateAt } from "../core/chain/index.ts";
import type { ActorId, Behaviour, Json } from "../core/contract/index.ts";
import { kindOf } from "../core/contract/internal.ts";
import { namedActor } from "./named-actor.ts";
import { CommandError, EXIT, noActor, usage } from "./exit-code.ts";
import type { Loaded } from "./load.ts";
import type { Place } from "./cluster-place.ts";
import { counted, output, replayText, short, table, visible } from "./output.ts";
import { eventsOfState } from "./events-of-state.ts";
import { eventsOf, openToRead, type Reader } from "./reading.ts";
import { withModules } from "./with-modules.ts";

const behaviourIn = (loaded: Loaded, id: ActorId, modules: readonly string[]): Behaviour => {
  const kind = kindOf(id);
  const found = loaded.parts.flatMap((part) => part.kinds).find((behaviour) => behaviour.kind === kind);
  if (found === undefined) throw usage(`None of ${modules.join(", ")} exports the kind ${kind}.`);
  return found;
};

/** More are counted only: of code that has changed every turn may differ, and a chain may have a million. */
const MOST_MISMATCHES = 1_000;

/** Why events of other versions were not run again, and what would run them. */
const otherVersions = (kind: string, written: ReadonlySet<number>, version: number): string =>
  `The module has version ${version} of ${kind}, and only the code that wrote an event can give the same result. To check events of ${written.size === 1 ? "version" : "versions"} ${[...written].toSorted((one, other) => one - other).join(", ")}, name a module of that version with --module.`;

const lengthIn = (store: Reader, id: ActorId) => async (): Promise<number | undefined> => (await store.state(id))?.seq;

export const replay = async (
  actor: string,
  options: Place & { readonly to?: number; readonly module?: readonly string[] },
): Promise<void> => {
  const id = await namedActor(actor);
  const { store } = await openToRead(options);
  await using _ = store;
  const out = output(options);
  const { module, to } = options;
  if (module === undefined) {
    const length = lengthIn(store, id);
    const seq = to ?? (await length()) ?? 1;
    const { state, version } = stateAt(await eventsOfState(store, id, seq, length), seq);
    out.show({ actor: id, seq, version, state }, () => visible(JSON.stringify(state, null, 2)));
    return;
  }
  const length = lengthIn(store, id);
  const seq = to ?? (await length());
  if (seq === undefined) throw noActor(id, store.place);
  const { state, version } = stateAt(await eventsOfState(store, id, seq, length), seq);
  const mismatches: Mismatch[] = [];
  let differ = 0;
  const otherWriters = new Set<number>();
  const { run, taken, moduleVersion } = await withModules(module, options, async (loaded) => {
    const behaviour = behaviourIn(loaded, id, module);
    const running = new Reexecuting(behaviour);
    let left = seq;
    for await (const event of eventsOf(store, id)) {
      if (left === 0) break;
      left -= 1;
      const writer = readBody(event)?.version;
      if (writer !== undefined && writer !== behaviour.version) otherWriters.add(writer);
      const found = running.next(event);
      if (found.length > 0) differ += 1;
      for (const mismatch of found) if (mismatches.length < MOST_MISMATCHES) mismatches.push(mismatch);
    }
    return { run: running.run, taken: running.taken, moduleVersion: behaviour.version };
  });
  out.show({ actor: id, seq, version, state, run, taken, differ, mismatches }, () =>
    [
      replayText("turn", { run, differ, taken }),
      ...(taken.version > 0 ? [otherVersions(kindOf(id), otherWriters, moduleVersion)] : []),
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
  const stateOf = async (seq: number): Promise<Json> => stateAt(await eventsOfState(store, id, seq, lengthIn(store, id)), seq).state;
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
