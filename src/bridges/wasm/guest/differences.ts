/** A guest's call as it was, and as it is now. */
import { hash } from "node:crypto";
import type { Digest, Json, Message } from "../../../core/contract/index.ts";
import type { GuestState } from "../guest-state.ts";
import { kept } from "../kept.ts";
import type { GuestOutcome } from "../sandbox.ts";
import type { GuestRecord } from "./read-record.ts";
import type { RecordedHost } from "./recorded-host.ts";

export interface GuestMismatch {
  readonly seq: number;
  readonly event: string;
  /** `host-call`: another call, or with other arguments; `threw`: it could not be run. */
  readonly what: "end" | "message" | "state" | "reply" | "host-call" | "threw";
  readonly recorded?: Json;
  readonly now?: Json;
}

export interface Again {
  readonly record: GuestRecord;
  readonly message: Message;
  readonly before: GuestState;
  readonly after: GuestState;
}

export interface Ended {
  readonly outcome: GuestOutcome;
  readonly host: RecordedHost;
}

type Name = (what: GuestMismatch["what"], recorded?: Json, now?: Json) => GuestMismatch;

export async function differences({ record, after }: Again, { outcome, host }: Ended, name: Name): Promise<readonly GuestMismatch[]> {
  const found: GuestMismatch[] = [];
  if (outcome.end !== record.end) found.push(name("end", record.end, outcome.end));
  else if (outcome.end === "ok") {
    const state = outcome.state === undefined ? null : digestOf(outcome.state);
    if (state !== after.state) found.push(name("state", after.state, state));
    const back = await kept(outcome.back, digestOf);
    if (JSON.stringify(back) !== JSON.stringify(record.back ?? null)) found.push(name("reply", record.back ?? null, back));
  } else if (outcome.message.toWellFormed() !== record.message)
    found.push(name("message", record.message ?? null, outcome.message.toWellFormed()));
  const made = await Promise.all(
    outcome.did.map(async (call) => [
      call.name,
      await Promise.all(call.args.map((arg) => kept(arg, digestOf))),
      await kept(call.result, digestOf),
    ]),
  );
  const was = record.did.map(({ name: of, args, result }) => [of, args, result]);
  const at = Array.from({ length: Math.max(made.length, was.length) }, (_, n) => n).find(
    (n) => JSON.stringify(made[n]) !== JSON.stringify(was[n]),
  );
  if (at !== undefined) found.push(name("host-call", was[at] ?? null, made[at] ?? null));
  else if (host.strayed !== undefined) found.push(name("host-call", null, host.strayed));
  return found;
}

const digestOf = (bytes: Uint8Array): Digest => hash("sha256", bytes, "hex");
