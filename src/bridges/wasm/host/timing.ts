import type { Clock } from "../../../core/contract/index.ts";
import type { Grants } from "../manifest.ts";
import type { WitValue } from "../wit.ts";
import type { Given } from "./given.ts";
import { ok, u64 } from "./values.ts";

/** `sleep` and `deadline`: both in milliseconds, the latter since 1970. */
export async function wait(
  name: string,
  given: WitValue,
  { minSleepMs, maxSleepMs }: NonNullable<Grants["timing"]>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Given> {
  const until = u64(given);
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
    if (signal.aborted) return reject(over());
    const aborted = (): void => {
      undo();
      reject(over());
    };
    const undo = clock.after(ms, () => {
      signal.removeEventListener("abort", aborted);
      resolve();
    });
    signal.addEventListener("abort", aborted, { once: true });
  });
}

const over = (): Error => new Error("The call is over: nobody waits for it any more.");
