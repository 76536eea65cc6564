import { type ActorId, type Ended, isJsonObject, isList, type Json, systemClock } from "../core/contract/index.ts";
import { isTexts } from "../core/contract/internal.ts";
import { prune, type Pruned, type Pruning } from "../core/engine/index.ts";
import { sqliteStore } from "../core/store/index.ts";
import { actorId } from "./actor-options.ts";
import { CommandError, EXIT } from "./command-error.ts";
import { askControl } from "./control-socket.ts";
import type { DataDirectory } from "./data-directory.ts";
import { notesLoss } from "./open-store.ts";

const endedIn = (value: Json): Ended => {
  const { id, head, seq, endedAt } = isJsonObject(value) ? value : {};
  if (typeof id !== "string" || typeof head !== "string" || typeof seq !== "number" || typeof endedAt !== "number") throw strange();
  return { id: actorId(id), head, seq, endedAt };
};

const prunedIn = (value: Json): Pruned => {
  const { ended, damaged, next } = isJsonObject(value) ? value : {};
  if (!isList(ended) || !isTexts(damaged)) throw strange();
  const unread: readonly ActorId[] = damaged.map((id) => actorId(id));
  return { ended: ended.map(endedIn), damaged: unread, ...(typeof next === "string" ? { next } : {}) };
};

const strange = (): CommandError =>
  new CommandError(EXIT.failed, "FAILED", "The running server's answer is not one: it may be of another version than this command.");

/**
 * Page after page: by the running server, or where none runs by the store itself, since what has ended needs no code of its kind.
 * With `dryRun` none goes.
 */
export async function* prunePages(directory: DataDirectory, pruning: Pruning, dryRun: boolean): AsyncGenerator<Pruned> {
  const ask = async (page: Pruning): Promise<Pruned | undefined> => {
    const answer = await askControl(directory.control, "prune", { ...page });
    return answer && prunedIn(answer.ok);
  };
  const first = dryRun ? undefined : await ask(pruning);
  if (first !== undefined) {
    yield* pages(first, pruning, async (page) => (await ask(page)) ?? { ended: [], damaged: [] });
    return;
  }
  directory.refuseLoss();
  await using store = sqliteStore({ directory: directory.path, readOnly: dryRun, ...notesLoss });
  const host = { store, now: systemClock.now(), ...(dryRun ? {} : { remove: (one: Ended) => store.remove(one) }) };
  const pruned = async (page: Pruning): Promise<Pruned> => {
    const done = await prune(host, page);
    if (!dryRun && done.ended.length > 0) directory.dropSearch();
    return done;
  };
  yield* pages(await pruned(pruning), pruning, pruned);
}

async function* pages(first: Pruned, pruning: Pruning, ask: (page: Pruning) => Promise<Pruned>): AsyncGenerator<Pruned> {
  for (let page = first; ; page = await ask({ ...pruning, after: page.next })) {
    yield page;
    if (page.next === undefined) return;
  }
}
