import { setTimeout as sleep } from "node:timers/promises";
import { exportLine, readBody, readHeader } from "../core/chain/index.ts";
import { type ChainEvent, isJsonObject } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import { namedActor, type Place } from "./actor-options.ts";
import { noActor } from "./command-error.ts";
import { oneLine, paint, printLine, short } from "./output.ts";
import { openToRead } from "./read-source.ts";
import { eventsOf } from "../bridges/operate/paging.ts";

const FOLLOW_MS = 250;

const describeEvent = (event: ChainEvent): string => {
  const header = readHeader(event);
  const body = readBody(event);
  const message = isJsonObject(body?.message) ? body.message : undefined;
  const viewer = isJsonObject(message?.["viewer"]) ? message["viewer"] : undefined;
  // A message of another actor may speak for a principal, too: that is who caused it.
  const who = viewer?.["principal"] ?? message?.["from"];
  const by = typeof who === "string" ? `by ${short(who)}  ` : "";
  const what = body === undefined ? paint("dim", "(body erased)") : `${short(message?.["args"] ?? null)} → ${short(body.reply ?? null)}`;
  return `${String(header.seq).padStart(6)}  ${new Date(header.at).toISOString()}  ${event.id.slice(0, 12)}  ${oneLine(header.type)}  ${by}${what}`;
};

export const printChain = async (
  actor: string,
  options: Place & { readonly after: number; readonly follow?: boolean; readonly export?: boolean },
): Promise<void> => {
  const id = await namedActor(actor);
  const { store } = await openToRead(options);
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
            : describeEvent(event);
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
