import type { Codec } from "../wire/index.ts";
import { Line } from "./line.ts";
import { LineError } from "./line-error.ts";
import type { Settings } from "./options.ts";
import { passed } from "./passed.ts";

const NO_EVENTS = { push: () => undefined, ended: () => undefined };

async function speaks(settings: Settings, codec: Codec, signal: AbortSignal): Promise<Codec> {
  const line = await Line.open(settings, codec, NO_EVENTS);
  try {
    await line.ask({ is: "ListActors" }, { limitMs: settings.limits.probeMs, signal });
    return codec;
  } finally {
    line.close();
  }
}

/**
 * Tries both codecs, each on a connection of its own: a server ignores what it does not understand, or disconnects. If the older codec
 * is answered first, the newer one has a short grace period, since it also names actors. Throws `ConnectionError`: `unreached` or
 * `ended`, or `silent` if something listens but understands neither.
 */
export async function probeCodec(settings: Settings, givenUp: AbortSignal): Promise<Codec> {
  const decided = new AbortController();
  const signal = AbortSignal.any([givenUp, decided.signal]);
  const newer = speaks(settings, "fragmenting", signal);
  const older = speaks(settings, "raw", signal);
  try {
    const first = await Promise.any([newer, older]);
    if (first === "fragmenting") return first;
    const nothingMore = passed(settings.clock, settings.limits.graceMs, givenUp).then(() => first);
    return await Promise.race([newer.catch(() => nothingMore), nothingMore]);
  } catch (error) {
    const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
    const passing = errors.find((one) => one instanceof LineError && (one.why === "unreached" || one.why === "ended"));
    if (passing !== undefined) throw passing;
    throw new LineError(
      "silent",
      `Something listens where ${settings.server} should, and answers in none of its codecs: check the port.`,
      false,
    );
  } finally {
    decided.abort();
  }
}
