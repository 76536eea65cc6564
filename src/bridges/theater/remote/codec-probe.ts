import type { Codec } from "../wire/index.ts";
import { Connection } from "./line.ts";
import { ConnectionError } from "./line-error.ts";
import type { Settings } from "./options.ts";
import { delay } from "./passed.ts";

const IGNORE_EVENTS = { push: () => undefined, ended: () => undefined };

async function tryCodec(settings: Settings, codec: Codec, signal: AbortSignal): Promise<Codec> {
  const connection = await Connection.open(settings, codec, IGNORE_EVENTS);
  try {
    await connection.send({ is: "ListActors" }, { limitMs: settings.limits.probeMs, signal });
    return codec;
  } finally {
    connection.close();
  }
}

/**
 * Tries both codecs, each on a connection of its own: a server ignores what it does not understand, or disconnects. If the older codec
 * is answered first, the newer one has a short grace period, since it also names actors. Throws `ConnectionError`: `unreached` or
 * `ended`, or `silent` if something listens but understands neither.
 */
export async function detectCodec(settings: Settings, closing: AbortSignal): Promise<Codec> {
  const decided = new AbortController();
  const signal = AbortSignal.any([closing, decided.signal]);
  const newer = tryCodec(settings, "fragmenting", signal);
  const older = tryCodec(settings, "raw", signal);
  try {
    const first = await Promise.any([newer, older]);
    if (first === "fragmenting") return first;
    const graceOver = delay(settings.clock, settings.limits.graceMs, closing).then(() => first);
    return await Promise.race([newer.catch(() => graceOver), graceOver]);
  } catch (error) {
    const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
    const transient = errors.find((one) => one instanceof ConnectionError && (one.why === "unreached" || one.why === "ended"));
    if (transient !== undefined) throw transient;
    throw new ConnectionError(
      "silent",
      `Something listens where ${settings.server} should, and answers in none of its codecs: check the port.`,
      false,
    );
  } finally {
    decided.abort();
  }
}
