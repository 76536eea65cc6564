import { createPublicKey, type KeyObject } from "node:crypto";
import type { Verdict } from "../core/chain/index.ts";
import type { ActorId, Receipt, StoreError } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import { checkFile } from "../core/store/index.ts";
import { actorId, namedActor, type Place } from "./actor-options.ts";
import { CommandError, EXIT, noActor, usage } from "./command-error.ts";
import { readTextFile } from "./files.ts";
import { counted, oneLine, output, paint } from "./output.ts";
import { openToRead } from "./read-source.ts";
import { actorsOf } from "../bridges/operate/paging.ts";
import { isThere, verdictOn } from "../bridges/operate/index.ts";

const publicKeyIn = (path: string): KeyObject => {
  const pem = readTextFile(path, "--public-key");
  try {
    return createPublicKey(pem);
  } catch {
    throw usage(`--public-key: ${path} holds no public key in PEM.`);
  }
};

const verdictText = (id: ActorId, verdict: Verdict): string =>
  verdict.flaw === undefined
    ? `${paint("green", "sound")}  ${id}  ${verdict.events} events, head ${(verdict.head ?? "").slice(0, 12)}${verdict.erased > 0 ? `, ${verdict.erased} bodies erased` : ""}${verdict.signedSeq === undefined ? "" : `, signed at ${verdict.signedSeq}`}`
    : `${paint("red", "broken")} ${id}  event ${verdict.flaw.seq}: ${oneLine(verdict.flaw.message)} (${verdict.flaw.code})`;

export const verifyChains = async (
  actor: string | undefined,
  options: Place & { readonly receipt: readonly Receipt[]; readonly publicKey?: string },
): Promise<void> => {
  const { store, directory } = await openToRead(options);
  await using _ = store;
  const out = output(options);
  const publicKey = options.publicKey === undefined ? undefined : publicKeyIn(options.publicKey);
  let broken = 0;
  let events = 0;
  let actors = 0;
  const check = async (id: ActorId, listed = false): Promise<void> => {
    const receipts = options.receipt.filter((receipt) => receipt.actor === id || actor !== undefined);
    const verdict = await verdictOn(store, id, { receipts, ...omitUndefined({ publicKey }) });
    // Between the list and here a running server may have had it pruned.
    if (listed && verdict.flaw !== undefined && !(await isThere(store, id))) return;
    actors += 1;
    events += verdict.events;
    if (verdict.flaw !== undefined) broken += 1;
    out.value({ ...verdict, actor: id, flaw: verdict.flaw ?? null, signedSeq: verdict.signedSeq ?? null });
    if (actor !== undefined || verdict.flaw !== undefined) out.text(() => verdictText(id, verdict));
  };
  if (actor === undefined) {
    // A damaged index can hide an actor from the list below.
    const file = directory?.path;
    const damage = file === undefined ? [] : checkFile({ directory: file });
    for (const what of damage) out.show({ file, damage: what }, () => `${paint("red", "broken")} ${file}  ${what}`);
    broken += damage.length;
    const unread: ActorId[] = [];
    const damaged = (error: StoreError, id?: ActorId): void => {
      if (id === undefined) throw error;
      unread.push(id);
    };
    for await (const { id } of actorsOf(store, { damaged })) await check(id, true);
    for (const id of unread) await check(id);
    for (const receipt of options.receipt) if (!(await isThere(store, actorId(receipt.actor)))) await check(actorId(receipt.actor));
    out.text(() => `${counted(actors, "actor")}, ${counted(events, "event")}, ${broken} broken.`);
  } else {
    const id = await namedActor(actor);
    if (options.receipt.length === 0 && !(await isThere(store, id))) throw noActor(id, store.place);
    await check(id);
  }
  if (broken > 0)
    throw new CommandError(
      EXIT.unverified,
      "UNVERIFIED",
      `${counted(broken, "flaw")} in ${counted(actors, "chain")}: restore them from a copy.`,
    );
};
