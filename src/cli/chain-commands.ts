import { createPublicKey, type KeyObject } from "node:crypto";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import {
  causeTree,
  type Cause,
  diffStates,
  exportLine,
  readBody,
  readHeader,
  reexecute,
  rootCause,
  stateAt,
  type Verdict,
} from "../chain/index.ts";
import type { ActorId, Behaviour, ChainEvent, Json, Receipt } from "../contract/index.ts";
import { actorId } from "./actor-id.ts";
import { isBag, textOr } from "./bag.ts";
import { DataDirectory } from "./data-directory.ts";
import { CommandError, EXIT, notFound, usage } from "./exit-code.ts";
import { holdOutput } from "./hold-output.ts";
import { load } from "./load.ts";
import { checkFile } from "../store/index.ts";
import { type Common, common, moduleOption, wholeNumber, type Writing } from "./options.ts";
import { counted, oneLine, output, paint, printLine, table, visible } from "./output.ts";
import { actorsOf, chainOf, eventsOf, openToRead } from "./reading.ts";
import { resolveToThisTroupe } from "./resolve-hook.ts";
import { readTextFile } from "./text-file.ts";
import { isThere, verdictOn } from "./verdict.ts";
import { write } from "./write.ts";

const FOLLOW_MS = 250;

const sequence = (text: string): number => {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw usage(`An event is named by its number, from 1 on, not "${text}".`);
  return number;
};

const short = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "";
  return visible(text.length > 100 ? `${text.slice(0, 99)}…` : text);
};

const describeEvent = (event: ChainEvent): string => {
  const header = readHeader(event);
  const body = readBody(event);
  const message = isBag(body?.message) ? body.message : undefined;
  const what = body === undefined ? paint("dim", "(body erased)") : `${short(message?.["args"] ?? null)} → ${short(body.reply ?? null)}`;
  return `${String(header.seq).padStart(6)}  ${new Date(header.at).toISOString()}  ${event.id.slice(0, 12)}  ${oneLine(header.type)}  ${what}`;
};

const publicKeyIn = (path: string): KeyObject => {
  const pem = readTextFile(path, "--public-key");
  try {
    return createPublicKey(pem);
  } catch {
    throw usage(`--public-key: ${path} holds no public key in PEM.`);
  }
};

const readReceipt = (text: string): Receipt => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  if (!isBag(parsed) || typeof parsed["actor"] !== "string" || typeof parsed["seq"] !== "number" || typeof parsed["head"] !== "string")
    throw usage('A receipt is the JSON of a result\'s _meta["troupe/receipt"]: {"actor":…,"seq":…,"head":…}.');
  return { actor: parsed["actor"], seq: parsed["seq"], head: parsed["head"] };
};

const behaviourOf = async (id: ActorId, modules: readonly string[]): Promise<Behaviour> => {
  const unhook = resolveToThisTroupe();
  const held = holdOutput();
  try {
    const kind = id.split("/")[0];
    const found = (await load(modules)).parts.flatMap((part) => part.kinds).find((behaviour) => behaviour.kind === kind);
    if (found === undefined) throw usage(`None of ${modules.join(", ")} exports the kind ${kind}.`);
    return found;
  } finally {
    held.release();
    unhook();
  }
};

const causeLines = (cause: Cause, depth = 0): readonly string[] => [
  `${"  ".repeat(depth)}${cause.header.actor} #${cause.header.seq} ${oneLine(cause.header.type)} ${paint("dim", cause.id.slice(0, 12))}`,
  ...cause.effects.flatMap((effect) => causeLines(effect, depth + 1)),
  ...(cause.cut ? [`${"  ".repeat(depth + 1)}…`] : []),
];

const verdictText = (id: ActorId, verdict: Verdict): string =>
  verdict.flaw === undefined
    ? `${paint("green", "sound")}  ${id}  ${verdict.events} events, head ${(verdict.head ?? "").slice(0, 12)}${verdict.erased > 0 ? `, ${verdict.erased} bodies erased` : ""}${verdict.signedSeq === undefined ? "" : `, signed at ${verdict.signedSeq}`}`
    : `${paint("red", "broken")} ${id}  event ${verdict.flaw.seq}: ${oneLine(verdict.flaw.message)} (${verdict.flaw.code})`;

const checkpointText = (actor: string, done: Json): string => {
  const { seq, head, signed, erased } = isBag(done) ? done : {};
  const bodies = erased === 0 || typeof erased !== "number" ? "" : `; ${erased === 1 ? "1 body" : `${erased} bodies`} erased`;
  return `${actor} has a checkpoint at event ${typeof seq === "number" ? seq : "?"}, head ${textOr(head, "?").slice(0, 12)}, ${signed === true ? "signed" : "not signed"}${bodies}.`;
};

export const registerChainCommands = (program: Command): void => {
  common(program.command("chain").description("Print an actor's events.").argument("<actor>", "kind/key"))
    .option("--after <seq>", "only those after this event", wholeNumber(0), 0)
    .option("--follow", "go on as they come, until interrupted")
    .option("--export", "each event as one JSON line with its texts as they were hashed")
    .action(async (actor: string, options: Common & { after: number; follow?: boolean; export?: boolean }) => {
      const id = actorId(actor);
      const { store } = openToRead(options.data);
      await using _ = store;
      let after = options.after;
      const print = async (): Promise<void> => {
        for await (const event of eventsOf(store, id, after)) {
          after = readHeader(event).seq;
          const body = options.json === true ? readBody(event) : undefined;
          const line =
            options.export === true
              ? exportLine(event)
              : options.json === true
                ? JSON.stringify({ id: event.id, header: readHeader(event), ...(body === undefined ? {} : { body }) })
                : describeEvent(event);
          printLine(line);
        }
      };
      if ((await store.load(id)) === undefined) throw notFound(`There is no actor ${id}; "troupe actors" lists them.`);
      await print();
      if (options.follow !== true) return;
      const stopped = new AbortController();
      process.once("SIGINT", () => stopped.abort());
      process.once("SIGTERM", () => stopped.abort());
      while (!stopped.signal.aborted) {
        await sleep(FOLLOW_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
        await print();
      }
    });

  common(program.command("verify").description("Check every hash and link of one chain, or of all.").argument("[actor]", "kind/key"))
    .option(
      "--receipt <json>",
      "from a result: proves that nothing was rolled back since; repeatable",
      (text: string, before: readonly Receipt[]) => [...before, readReceipt(text)],
      [],
    )
    .option("--public-key <file>", "PEM: checkpoints must be signed by its private half")
    .action(async (actor: string | undefined, options: Common & { receipt: readonly Receipt[]; publicKey?: string }) => {
      const { store, directory } = openToRead(options.data);
      await using _ = store;
      const out = output(options.json === true);
      const publicKey = options.publicKey === undefined ? undefined : publicKeyIn(options.publicKey);
      let broken = 0;
      let events = 0;
      let actors = 0;
      const check = async (id: ActorId): Promise<void> => {
        const receipts = options.receipt.filter((receipt) => receipt.actor === id || actor !== undefined);
        const verdict = await verdictOn(store, id, { receipts, ...(publicKey === undefined ? {} : { publicKey }) });
        actors += 1;
        events += verdict.events;
        if (verdict.flaw !== undefined) broken += 1;
        if (out.json) out.show({ ...verdict, actor: id, flaw: verdict.flaw ?? null, signedSeq: verdict.signedSeq ?? null }, () => "");
        else if (actor !== undefined || verdict.flaw !== undefined) out.show({}, () => verdictText(id, verdict));
      };
      if (actor === undefined) {
        // A damaged index can hide an actor from the list below.
        const damage = checkFile({ directory: directory.path });
        for (const what of damage)
          out.show({ file: directory.path, damage: what }, () => `${paint("red", "broken")} ${directory.path}  ${what}`);
        broken += damage.length;
        for await (const { id } of actorsOf(store)) await check(id);
        for (const receipt of options.receipt) if (!(await isThere(store, actorId(receipt.actor)))) await check(actorId(receipt.actor));
        if (!out.json) out.show({}, () => `${counted(actors, "actor")}, ${counted(events, "event")}, ${broken} broken.`);
      } else {
        const id = actorId(actor);
        if (options.receipt.length === 0 && !(await isThere(store, id)))
          throw notFound(`There is no actor ${id}; "troupe actors" lists them.`);
        await check(id);
      }
      if (broken > 0)
        throw new CommandError(
          EXIT.unverified,
          "UNVERIFIED",
          `${counted(broken, "flaw")} in ${counted(actors, "chain")}: restore them from a copy.`,
        );
    });

  common(
    program
      .command("replay")
      .description("The state at an event; with a module, pure turns run again and compared.")
      .argument("<actor>", "kind/key"),
  )
    .option("--to <seq>", "the event to stop at", sequence)
    .option("--module <module...>", "run the turns again with this code")
    .action(async (actor: string, options: Common & { to?: number; module?: string[] }) => {
      const id = actorId(actor);
      const { store } = openToRead(options.data);
      await using _ = store;
      const out = output(options.json === true);
      const events = await chainOf(store, id, options.to);
      if (options.to !== undefined && events.length < options.to) throw notFound(`${id} has ${events.length} events, not ${options.to}.`);
      const { state, version } = stateAt(events, events.length);
      if (options.module === undefined) {
        out.show({ actor: id, seq: events.length, version, state }, () => visible(JSON.stringify(state, null, 2)));
        return;
      }
      const again = reexecute(await behaviourOf(id, options.module), events);
      out.show({ actor: id, seq: events.length, version, state, ...again }, () =>
        [
          `${again.run} turns run again, ${again.mismatches.length} differ; taken from the record: ${
            Object.entries(again.taken)
              .filter(([, count]) => count > 0)
              .map(([why, count]) => `${count} ${why}`)
              .join(", ") || "none"
          }.`,
          ...again.mismatches
            .slice(0, 50)
            .map(({ seq, what, recorded, now }) => `  event ${seq}: ${what} was ${short(recorded)}, is ${short(now)}`),
        ].join("\n"),
      );
      if (again.mismatches.length > 0)
        throw new CommandError(
          EXIT.unverified,
          "NOT_REPRODUCED",
          `${again.mismatches.length} turns differ from what was recorded: the code has changed, or a turn is not pure.`,
        );
    });

  common(
    program
      .command("diff")
      .description("What changed between two events.")
      .argument("<actor>", "kind/key")
      .argument("<from>", "an event's number", sequence)
      .argument("<to>", "an event's number", sequence),
  ).action(async (actor: string, from: number, to: number, options: Common) => {
    const id = actorId(actor);
    const { store } = openToRead(options.data);
    await using _ = store;
    const events = await chainOf(store, id, Math.max(from, to));
    if (events.length < Math.max(from, to)) throw notFound(`${id} has ${events.length} events, not ${Math.max(from, to)}.`);
    const differences = diffStates(stateAt(events, from).state, stateAt(events, to).state);
    const out = output(options.json === true);
    if (out.json) out.show({ actor: id, from, to, differences: [...differences] }, () => "");
    else
      out.show({}, () =>
        differences.length === 0
          ? "No difference."
          : table(
              ["where", "before", "after"],
              differences.map(({ path, before, after }) => [path === "" ? "/" : path, short(before), short(after)]),
            ),
      );
  });

  common(
    program
      .command("fork")
      .description("A muted copy of an actor: its sends are recorded, not delivered.")
      .argument("<actor>", "kind/key")
      .argument("<to>", "kind/new-key"),
  )
    .option("--at <seq>", "as it was at this event", sequence)
    .addOption(moduleOption())
    .action(async (actor: string, to: string, options: Writing & { at?: number }) => {
      const forked = await write(new DataDirectory(options.data), options.module ?? [], "fork", {
        actor: actorId(actor),
        to: actorId(to),
        ...(options.at === undefined ? {} : { at: options.at }),
      });
      output(options.json === true).show({ forked }, () => `${to} begins as ${actor} was.`);
    });

  common(
    program
      .command("checkpoint")
      .description("Write the whole state as an event, signed if there is a key.")
      .argument("<actor>", "kind/key"),
  )
    .option("--key <file>", "PEM of an Ed25519 private key to sign with; a running server reads the file itself")
    .option("--erase", "erase the bodies before it; headers stay, and the chain still verifies")
    .addOption(moduleOption())
    .action(async (actor: string, options: Writing & { key?: string; erase?: boolean }) => {
      const done = await write(new DataDirectory(options.data), options.module ?? [], "checkpoint", {
        actor: actorId(actor),
        erase: options.erase === true,
        ...(options.key === undefined ? {} : { keyFile: resolve(options.key) }),
      });
      output(options.json === true).show({ checkpoint: done }, () => checkpointText(actor, done));
    });

  common(
    program
      .command("causes")
      .description("What an event came from, and what followed from it on other actors.")
      .argument("<event>", "an event's id"),
  ).action(async (event: string, options: Common) => {
    const { store } = openToRead(options.data);
    await using _ = store;
    const root = await rootCause(event, store);
    const tree = root === undefined ? undefined : await causeTree(root, store);
    if (tree === undefined) throw notFound(`There is no event ${event}; "troupe chain <actor> --json" prints ids.`);
    output(options.json === true).show(tree, () => causeLines(tree).join("\n"));
  });
};
