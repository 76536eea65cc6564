// Owns: the interfaces `runtime` and `timing`, as far as the host answers them.
import { readBody, readHeader } from "../../../core/chain/index.ts";
import { type ChainEvent, type Clock, isJsonObject, untilAborted } from "../../../core/contract/index.ts";
import { newestWithin } from "../../../core/contract/internal.ts";
import type { WitValue } from "../wit.ts";
import type { Grants } from "../manifest/manifest.ts";
import type { Import, ImportContext } from "./call-environment.ts";
import { ok, asOptionalBytes, asU64 } from "./values.ts";
import type { ImportResult } from "../sandbox.ts";

const MAX_EVENTS = 1_000;

/** The newest events of this life before the current one, fewer if they are too large together. */
async function getChain({ environment }: ImportContext): Promise<ImportResult> {
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
 * The body of an event, without the message's seed. Seeds of the messages that a guest sends derive from it: a guest that knew it could
 * predict the random numbers of their receivers, and so the ids of their stores.
 */
function withoutSeed(event: ChainEvent): string {
  const body = readBody(event);
  if (!isJsonObject(body?.message)) return event.body ?? "";
  const { seed: _hidden, ...message } = body.message;
  return JSON.stringify({ ...body, message });
}

/** The first 8 bytes, since ids in this interface are u64. */
const hash64 = (id: string): bigint => BigInt(`0x${id.slice(0, 16)}`);

export const runtime: Readonly<Record<string, Import>> = {
  "get-chain": getChain,
  shutdown(host, [data]) {
    host.effects.shutdown = { data: asOptionalBytes(data) };
    return { result: ok() };
  },
};

/** `sleep` for, or until (`deadline`), milliseconds; the latter since 1970. */
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

/** Rejects when the call is over. */
async function sleep(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const undo = clock.after(ms, resolve);
  try {
    await untilAborted(signal, () => promise);
  } finally {
    undo();
  }
}
