// Owns: `troupe verify`. Does not own: how a chain is verified (core/chain), what counts as unreadable (bridges/operate).
import { createPublicKey, type KeyObject } from "node:crypto";
import type { Command } from "commander";
import { actorsOf } from "../../bridges/operate/paging.ts";
import type { Verdict } from "../../core/chain/index.ts";
import { type ActorId, isJsonObject, type Receipt, type StoreError } from "../../core/contract/index.ts";
import { counted, omitUndefined, tryParseJson } from "../../core/contract/internal.ts";
import { parseActorId, resolveActor, type Target, addTargetOptions } from "../actor-options.ts";
import { CommandError, EXIT, noActor, usage } from "../command-error.ts";
import { readTextFile } from "../files.ts";
import { openReader } from "../open-store.ts";
import { nonEmptyPath } from "../option-parsers.ts";
import { oneLine, output, paint } from "../output.ts";

interface VerifyOptions extends Target {
  readonly receipt?: readonly Receipt[];
  readonly publicKey?: string;
}

export const register = (program: Command): void => {
  addTargetOptions(
    program.command("verify").description("Check every hash and link of one chain, or of all.").argument("[actor]", "kind/key"),
  )
    .option(
      "--receipt <json>",
      "from a result: proves that nothing was rolled back since; repeatable",
      (text: string, before: readonly Receipt[] | undefined) => [...(before ?? []), readReceipt(text)],
    )
    .option("--public-key <file>", "PEM: checkpoints must be signed by its private half", nonEmptyPath("a file"))
    .action(verifyChains);
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
    ? `${paint("green", "sound")}  ${id}  ${counted(verdict.events, "event")}, head ${(verdict.head ?? "").slice(0, 12)}${verdict.erased > 0 ? `, ${counted(verdict.erased, "body", "bodies")} erased` : ""}${verdict.signedSeq === undefined ? "" : `, signed at ${verdict.signedSeq}`}`
    : `${paint("red", "broken")} ${id}  event ${verdict.flaw.seq}: ${oneLine(verdict.flaw.message)} (${verdict.flaw.code})`;

const verifyChains = async (actor: string | undefined, { receipt: allReceipts = [], ...options }: VerifyOptions): Promise<void> => {
  const [{ isThere, verdictOn }, { checkFile }] = await Promise.all([
    import("../../bridges/operate/index.ts"),
    import("../../core/store/index.ts"),
  ]);
  const { store, directory } = await openReader(options);
  await using _ = store;
  const out = output(options);
  const publicKey = options.publicKey === undefined ? undefined : publicKeyIn(options.publicKey);
  let broken = 0;
  let events = 0;
  let actors = 0;
  const check = async (id: ActorId, listed = false): Promise<void> => {
    const receipts = allReceipts.filter((receipt) => receipt.actor === id || actor !== undefined);
    const verdict = await verdictOn(store, id, { receipts, ...omitUndefined({ publicKey }) });
    // A running server may have pruned it since it was listed.
    if (listed && verdict.flaw !== undefined && !(await isThere(store, id))) return;
    actors += 1;
    events += verdict.events;
    if (verdict.flaw !== undefined) broken += 1;
    out.value({ ...verdict, actor: id, flaw: verdict.flaw ?? null, signedSeq: verdict.signedSeq ?? null });
    if (actor !== undefined || verdict.flaw !== undefined) out.text(() => verdictText(id, verdict));
  };
  if (actor === undefined) {
    // A damaged database index can hide actors from the list below.
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
    for (const receipt of allReceipts) if (!(await isThere(store, parseActorId(receipt.actor)))) await check(parseActorId(receipt.actor));
    out.text(() => `${counted(actors, "actor")}, ${counted(events, "event")}, ${broken} broken.`);
  } else {
    const id = await resolveActor(actor);
    if (allReceipts.length === 0 && !(await isThere(store, id))) throw noActor(id, store.place);
    await check(id);
  }
  if (broken > 0)
    throw new CommandError(
      EXIT.unverified,
      "UNVERIFIED",
      `${counted(broken, "flaw")} in ${counted(actors, "chain")}: restore them from a copy.`,
    );
};
