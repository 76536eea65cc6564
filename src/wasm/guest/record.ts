import type { Json } from "../../contract/index.ts";
import { kept, type Put } from "../kept.ts";
import type { GuestOutcome } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";

/** What of a call its event keeps: enough to make it again. Settles when what it put is durable. */
export async function recordOf(
  call: { readonly export: string; readonly params: readonly WitValue[] },
  outcome: Omit<GuestOutcome, "host"> & Told,
  put: Put,
): Promise<Json> {
  const [params, did, back] = await Promise.all([
    keptAll(call.params, put),
    Promise.all(
      outcome.did.map(async ({ name, args, result }) => ({ name, args: await keptAll(args, put), result: await kept(result, put) })),
    ),
    outcome.end === "ok" ? kept(outcome.back, put) : undefined,
  ]);
  return {
    call: { export: call.export, params },
    did,
    end: outcome.end,
    ...(outcome.message === undefined ? {} : { message: outcome.message.toWellFormed() }),
    ...(back === undefined ? {} : { back }),
  };
}

interface Told {
  readonly end: string;
  readonly message?: string;
  readonly back?: WitValue;
}

const keptAll = (values: readonly WitValue[], put: Put): Promise<Json[]> => Promise.all(values.map((value) => kept(value, put)));
