// Owns: `troupe chain`. Does not own: where events are read (open-store.ts).
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { eventsOf } from "../../bridges/operate/paging.ts";
import { type Body, type Header, isJsonObject } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { resolveActor, type Target, addTargetOptions } from "../actor-options.ts";
import { noActor } from "../command-error.ts";
import { openReader } from "../open-store.ts";
import { wholeNumber } from "../option-parsers.ts";
import { oneLine, paint, printLine, short } from "../output.ts";

interface ChainOptions extends Target {
  readonly after: number;
  readonly follow?: boolean;
  readonly export?: boolean;
}

export const register = (program: Command): void => {
  addTargetOptions(program.command("chain").description("Print an actor's events.").argument("<actor>", "kind/key"))
    .option("--after <seq>", "only those after this event", wholeNumber(0), 0)
    .option("--follow", "go on as they come, until interrupted")
    .option("--export", "each event as one JSON line with its texts as they were hashed")
    .action(printChain);
};

const FOLLOW_MS = 250;

const describeEvent = (id: string, header: Header, body: Body | undefined): string => {
  const message = isJsonObject(body?.message) ? body.message : undefined;
  const viewer = isJsonObject(message?.["viewer"]) ? message["viewer"] : undefined;
  // A message of another actor may act for a principal, who then is the cause.
  const who = viewer?.["principal"] ?? message?.["from"];
  const by = typeof who === "string" ? `by ${short(who)}  ` : "";
  const what = body === undefined ? paint("dim", "(body erased)") : `${short(message?.["args"] ?? null)} → ${short(body.reply ?? null)}`;
  return `${String(header.seq).padStart(6)}  ${new Date(header.at).toISOString()}  ${id.slice(0, 12)}  ${oneLine(header.type)}  ${by}${what}`;
};

const printChain = async (actor: string, options: ChainOptions): Promise<void> => {
  const { exportLine, readBody, readHeader } = await import("../../core/chain/index.ts");
  const id = await resolveActor(actor);
  const { store } = await openReader(options);
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
            ? JSON.stringify({ id: event.id, header: readHeader(event), ...omitUndefined({ body }) })
            : describeEvent(event.id, readHeader(event), readBody(event));
      printLine(line);
    }
  };
  if ((await store.load(id)) === undefined) throw noActor(id, store.place);
  await print();
  if (options.follow !== true) return;
  const stopped = new AbortController();
  process.once("SIGINT", () => stopped.abort());
  process.once("SIGTERM", () => stopped.abort());
  while (!stopped.signal.aborted) {
    await sleep(FOLLOW_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
    await print();
  }
};
