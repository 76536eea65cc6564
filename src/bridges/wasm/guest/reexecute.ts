// Owns: running the calls of a chain again from their records, and comparing the results.
import { hash } from "node:crypto";
import { apply, readBody, readHeader } from "../../../core/chain/index.ts";
import {
  type ActorId,
  type Body,
  type ChainEvent,
  type ContentStore,
  type Digest,
  isJsonObject,
  type Json,
  type Message,
} from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { type GuestState, isGuestState } from "../guest-state.ts";
import { storeValue, loadValue, MissingContent } from "../stored-values.ts";
import type { GuestHost, GuestOutcome, ImportResult } from "../sandbox.ts";
import { isList, type WitValue } from "../wit.ts";
import type { ImportName } from "../component/world.ts";
import { messageOf } from "../wasm-error.ts";
import { parseBeginning, type GuestRuntime } from "./guest-runtime.ts";
import { callOf } from "./program-cache.ts";
import { type GuestRecord, readRecord } from "./call-record.ts";

export interface GuestReexecution {
  readonly run: number;
  readonly mismatches: readonly GuestMismatch[];
  /** Events that were not run again, by reason: erased bodies, collected contents, calls with an unknown outcome, turns without a call. */
  readonly taken: Readonly<Record<SkipReason, number>>;
}

type SkipReason = "erased" | "collected" | "lost" | "other";

export async function reexecuteGuest(runtime: GuestRuntime, id: ActorId): Promise<GuestReexecution> {
  const taken: Record<SkipReason, number> = { erased: 0, collected: 0, lost: 0, other: 0 };
  const mismatches: GuestMismatch[] = [];
  let run = 0;
  let before: Json | undefined;
  for await (const event of runtime.engine().history(id)) {
    const body = readBody(event);
    const after = body === undefined ? undefined : stateAfter(before, body);
    const recorded =
      body === undefined ? "erased" : await callToRerun(body, before, after, (digest) => runtime.programs.contents.get(digest));
    const outcome = typeof recorded === "string" ? recorded : await compareRerun(runtime, event, recorded);
    if (typeof outcome === "string") taken[outcome] += 1;
    else {
      run += 1;
      mismatches.push(...outcome);
    }
    before = after;
  }
  return { run, mismatches, taken };
}

function stateAfter(before: Json | undefined, body: Body): Json | undefined {
  if (body.state !== undefined) return body.state;
  if (before === undefined || body.patch === undefined) return before;
  return apply(before, body.patch);
}

async function callToRerun(
  { message, record }: Body,
  before: Json | undefined,
  after: Json | undefined,
  get: ContentStore["get"],
): Promise<RecordedCall | SkipReason> {
  const callRecord = await readRecord(record, get).catch((error: unknown) => {
    if (error instanceof MissingContent) return "collected" as const;
    throw error;
  });
  if (callRecord === "collected") return callRecord;
  if (callRecord === undefined || !isMessage(message)) return "other";
  if (callRecord.end === "lost") return "lost";
  if (!isGuestState(after)) return "erased";
  const state: GuestState = after;
  const beginning = message.action === "start" ? parseBeginning(message) : undefined;
  // A life starts from what its message names, not from the state of the previous life.
  if (beginning !== undefined)
    return {
      record: callRecord,
      message,
      before: { ...state, state: beginning.initialState ?? null, children: {}, outstanding: [] },
      after,
    };
  return isGuestState(before) ? { record: callRecord, message, before, after } : "erased";
}

const isMessage = (value: unknown): value is Message =>
  typeof value === "object" && value !== null && "action" in value && "seed" in value && "id" in value && "at" in value;

async function compareRerun(runtime: GuestRuntime, event: ChainEvent, again: RecordedCall): Promise<readonly GuestMismatch[] | SkipReason> {
  const { seq } = readHeader(event);
  const name = (what: GuestMismatch["what"], recorded?: Json, now?: Json): GuestMismatch => ({
    seq,
    event: event.id,
    what,
    ...omitUndefined({ recorded, now }),
  });
  try {
    const ended = await rerun(runtime, event.id, again);
    return ended === undefined ? "collected" : await differencesOf(again, ended, name);
  } catch (error) {
    if (error instanceof MissingContent) return "collected";
    return [name("threw", again.record.end, messageOf(error))];
  }
}

async function rerun(runtime: GuestRuntime, event: string, { record, message, before }: RecordedCall): Promise<Rerun | undefined> {
  const { programs, options } = runtime;
  const get = (digest: Digest): Promise<Uint8Array | undefined> => programs.contents.get(digest);
  const { manifest, component, origin } = before;
  for (const digest of [manifest, component, before.state]) if (digest !== null && !(await programs.contents.has(digest))) return undefined;
  const program = await programs.program(manifest, component, origin);
  const did = await Promise.all(
    record.did.map(async (call) => ({ name: call.name, args: call.args, result: await loadValue(call.result, get) })),
  );
  const host = new RecordedHost(did);
  const guest = `again ${event}`;
  try {
    const outcome = await options.sandbox.run({
      ...callOf(program),
      guest,
      export: record.export,
      state: before.state === null ? undefined : await programs.state(before.state),
      params: await Promise.all(record.params.map((value) => loadValue(value, get))),
      at: message.at,
      seed: message.seed,
      variables: recordedVariables(did),
      outstanding: message.action === "request" ? [...before.outstanding, message.id] : before.outstanding,
      children: Object.keys(childrenOf(before, message)),
      host: () => host.reset(),
      signal: new AbortController().signal,
    });
    return { outcome, host };
  } finally {
    options.sandbox.forget(guest);
  }
}

/** A stopped child is removed before its parent handles the message. */
function childrenOf({ children }: GuestState, { action, args }: Message): GuestState["children"] {
  if (action !== "ended" && action !== "child-exit") return children;
  const stopped = isJsonObject(args) ? args["child"] : undefined;
  return Object.fromEntries(Object.entries(children).filter(([, id]) => id !== stopped));
}

// ── comparing ────────────────────────────────────────────────────────────────

interface GuestMismatch {
  readonly seq: number;
  readonly event: string;
  /** `host-call`: another host call, or other arguments; `threw`: the call could not be run. */
  readonly what: "end" | "message" | "state" | "reply" | "host-call" | "threw";
  readonly recorded?: Json;
  readonly now?: Json;
}

interface RecordedCall {
  readonly record: GuestRecord;
  readonly message: Message;
  readonly before: GuestState;
  readonly after: GuestState;
}

interface Rerun {
  readonly outcome: GuestOutcome;
  readonly host: RecordedHost;
}

type DescribeMismatch = (what: GuestMismatch["what"], recorded?: Json, now?: Json) => GuestMismatch;

async function differencesOf(
  { record, after }: RecordedCall,
  { outcome, host }: Rerun,
  name: DescribeMismatch,
): Promise<readonly GuestMismatch[]> {
  const mismatches: GuestMismatch[] = [];
  if (outcome.end !== record.end) mismatches.push(name("end", record.end, outcome.end));
  else if (outcome.end === "ok") {
    const state = outcome.state === undefined ? null : digestOf(outcome.state);
    if (state !== after.state) mismatches.push(name("state", after.state, state));
    const back = await storeValue(outcome.back, digestOf);
    if (JSON.stringify(back) !== JSON.stringify(record.back ?? null)) mismatches.push(name("reply", record.back ?? null, back));
  } else if (outcome.message.toWellFormed() !== record.message)
    mismatches.push(name("message", record.message ?? null, outcome.message.toWellFormed()));
  const calls = await Promise.all(
    outcome.did.map(async (call) => [
      call.name,
      await Promise.all(call.args.map((arg) => storeValue(arg, digestOf))),
      await storeValue(call.result, digestOf),
    ]),
  );
  const was = record.did.map(({ name: of, args, result }) => [of, args, result]);
  const at = Array.from({ length: Math.max(calls.length, was.length) }, (_, n) => n).find(
    (n) => JSON.stringify(calls[n]) !== JSON.stringify(was[n]),
  );
  if (at !== undefined) mismatches.push(name("host-call", was[at] ?? null, calls[at] ?? null));
  else if (host.unexpectedCall !== undefined) mismatches.push(name("host-call", null, host.unexpectedCall));
  return mismatches;
}

const digestOf = (bytes: Uint8Array): Digest => hash("sha256", bytes, "hex");

/** A recorded host call, with the result that the guest received. */
interface RecordedHostCall {
  readonly name: string;
  readonly args: readonly Json[];
  readonly result: WitValue;
}

/** Answers host calls from the record, in order. Nothing is done again. */
class RecordedHost implements GuestHost {
  readonly #did: readonly RecordedHostCall[];
  #next = 0;
  /** The first call that is not in the record. */
  unexpectedCall: string | undefined;

  constructor(did: readonly RecordedHostCall[]) {
    this.#did = did;
  }

  reset(): this {
    this.#next = 0;
    this.unexpectedCall = undefined;
    return this;
  }

  // Skipped calls were answered in the worker. They derive from the message, and are compared later.
  async call(name: ImportName): Promise<ImportResult> {
    for (let at = this.#next; at < this.#did.length; at += 1) {
      const recorded = this.#did[at];
      if (recorded?.name !== name) continue;
      this.#next = at + 1;
      return { result: recorded.result };
    }
    this.unexpectedCall ??= name;
    throw new Error(`${name} was not called then: the record has no answer.`);
  }
}

/** The environment variables that the call read. */
function recordedVariables(did: readonly RecordedHostCall[]): Readonly<Record<string, string>> {
  const seen = new Map<string, string>();
  for (const { name, args, result } of did) {
    const [of] = args;
    if (name === "environment.list-vars" && isList(result)) {
      for (const pair of result) {
        const [key, value] = isList(pair) ? pair : [];
        if (typeof key === "string" && typeof value === "string") seen.set(key, value);
      }
    } else if (typeof of === "string") {
      if (name === "environment.get-var" && typeof result === "string") seen.set(of, result);
      if (name === "environment.exists" && result === true && !seen.has(of)) seen.set(of, "");
    }
  }
  return Object.fromEntries(seen);
}
