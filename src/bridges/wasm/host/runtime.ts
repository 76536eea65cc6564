import { readBody, readHeader } from "../../../core/chain/index.ts";
import { type ChainEvent, type Clock, isJsonObject } from "../../../core/contract/index.ts";
import { newestWithin } from "../../../core/contract/internal.ts";
import type { WitValue } from "../wit.ts";
import type { Grants } from "../manifest/manifest.ts";
import type { CallHost, Import } from "./call-host.ts";
import { type ImportResult, ok, asOptionalBytes, asU64 } from "./values.ts";

const MAX_EVENTS = 1_000;

/** Events of this life before this one, the newest of them: where they would be too large together, fewer. */
async function getChain({ environment }: CallHost): Promise<ImportResult> {
  let room = environment.options.limits.hostBytes / 2;
  const found = await newestWithin(environment.engine.history(environment.message.to, Math.max(0, environment.seq - 1 - MAX_EVENTS)), room);
  const events: WitValue[] = [];
  for (const event of found.toReversed()) {
    const { life, type, parent } = readHeader(event);
    const data = Buffer.from(withoutSeed(event));
    room -= data.length + type.length + 32;
    if (life !== environment.life || room < 0) break;
    events.push({
      hash: hash64(event.id),
      event: { "event-type": type, parent: parent === null ? undefined : hash64(parent), data: new Uint8Array(data) },
    });
  }
  return { result: { events: events.toReversed() } };
}

/**
 * Its body. The seeds of what a guest sends follow from its own: who knows that one knows what its receivers draw, and so the ids
 * of their stores.
 */
function withoutSeed(event: ChainEvent): string {
  const body = readBody(event);
  if (!isJsonObject(body?.message)) return event.body ?? "";
  const { seed: _hidden, ...message } = body.message;
  return JSON.stringify({ ...body, message });
}

/** The first 8 bytes: the interface knows no longer ids. */
const hash64 = (id: string): bigint => BigInt(`0x${id.slice(0, 16)}`);

export const runtime: Readonly<Record<string, Import>> = {
  "get-chain": getChain,
  shutdown(host, [data]) {
    host.effects.shutdown = { data: asOptionalBytes(data) };
    return { result: ok() };
  },
};

/** `sleep` and `deadline`: both in milliseconds, the latter since 1970. */
export async function wait(
  name: string,
  given: WitValue,
  { minSleepMs, maxSleepMs }: NonNullable<Grants["timing"]>,
  clock: Clock,
  signal: AbortSignal,
): Promise<ImportResult> {
  const until = asU64(given);
  if (name === "deadline" && until <= BigInt(clock.now())) return { result: ok() };
  const ms = name === "deadline" ? until - BigInt(clock.now()) : until;
  if (ms > BigInt(maxSleepMs)) throw new Error(`It would sleep ${ms} ms, its manifest allows ${maxSleepMs}: sleep several times.`);
  if (name === "sleep" && ms < BigInt(minSleepMs))
    throw new Error(`It would sleep ${ms} ms, its manifest allows no less than ${minSleepMs}: sleep longer.`);
  await sleep(Number(ms), clock, signal);
  return { result: ok() };
}

function sleep(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(callEnded());
    const aborted = (): void => {
      undo();
      reject(callEnded());
    };
    const undo = clock.after(ms, () => {
      signal.removeEventListener("abort", aborted);
      resolve();
    });
    signal.addEventListener("abort", aborted, { once: true });
  });
}

const callEnded = (): Error => new Error("The call is over: nobody waits for it any more.");
