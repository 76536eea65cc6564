/** Guests' calls run again from their chain. */
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
import type { GuestState } from "../guest-state.ts";
import { MissingContent, loadValue } from "../kept.ts";
import { beginningIn } from "./arguments.ts";
import { type Again, differences, type Ended, type GuestMismatch } from "./differences.ts";
import { isGuestState } from "./is-guest-state.ts";
import type { Program } from "./library.ts";
import { readRecord } from "./read-record.ts";
import { RecordedHost, variablesIn } from "./recorded-host.ts";
import type { Room } from "./room.ts";

export interface GuestReexecution {
  readonly run: number;
  readonly mismatches: readonly GuestMismatch[];
  /** Events taken from the record, by why: erased bodies, contents that were collected, calls whose end is unknown, turns that ran no guest. */
  readonly taken: Readonly<Record<Taken, number>>;
}

type Taken = "erased" | "collected" | "lost" | "other";

export async function reexecuteGuest(room: Room, id: ActorId): Promise<GuestReexecution> {
  const taken: Record<Taken, number> = { erased: 0, collected: 0, lost: 0, other: 0 };
  const mismatches: GuestMismatch[] = [];
  let run = 0;
  let before: Json | undefined;
  for await (const event of room.engine().history(id)) {
    const body = readBody(event);
    const after = body === undefined ? undefined : stateAfter(before, body);
    const again = body === undefined ? "erased" : await toRun(body, before, after, (digest) => room.library.contents.get(digest));
    const outcome = typeof again === "string" ? again : await compared(room, event, again);
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

async function toRun(
  { message, record }: Body,
  before: Json | undefined,
  after: Json | undefined,
  get: ContentStore["get"],
): Promise<Again | Taken> {
  const read = await readRecord(record, get).catch((error: unknown) => {
    if (error instanceof MissingContent) return "collected" as const;
    throw error;
  });
  if (read === "collected") return read;
  if (read === undefined || !isMessage(message)) return "other";
  if (read.end === "lost") return "lost";
  if (!isGuestState(after)) return "erased";
  const left: GuestState = after;
  const beginning = message.action === "start" ? beginningIn(message) : undefined;
  // A life begins with what its message names, whatever the last one left.
  if (beginning !== undefined)
    return { record: read, message, before: { ...left, state: beginning.initialState ?? null, children: {}, outstanding: [] }, after };
  return isGuestState(before) ? { record: read, message, before, after } : "erased";
}

const isMessage = (value: unknown): value is Message =>
  typeof value === "object" && value !== null && "action" in value && "seed" in value && "id" in value && "at" in value;

async function compared(room: Room, event: ChainEvent, again: Again): Promise<readonly GuestMismatch[] | Taken> {
  const { seq } = readHeader(event);
  const name = (what: GuestMismatch["what"], recorded?: Json, now?: Json): GuestMismatch => ({
    seq,
    event: event.id,
    what,
    ...(recorded === undefined ? {} : { recorded }),
    ...(now === undefined ? {} : { now }),
  });
  try {
    const ended = await ranAgain(room, event.id, again);
    return ended === undefined ? "collected" : await differences(again, ended, name);
  } catch (error) {
    if (error instanceof MissingContent) return "collected";
    return [name("threw", again.record.end, error instanceof Error ? error.message : String(error))];
  }
}

async function ranAgain(room: Room, event: string, { record, message, before }: Again): Promise<Ended | undefined> {
  const { library, options } = room;
  const get = (digest: Digest): Promise<Uint8Array | undefined> => library.contents.get(digest);
  const { manifest, component, origin } = before;
  for (const digest of [manifest, component, before.state]) if (digest !== null && !(await library.contents.has(digest))) return undefined;
  const program: Program = await library.program(manifest, component, origin);
  const { environment, random } = program.manifest.grants;
  const did = await Promise.all(
    record.did.map(async (call) => ({ name: call.name, args: call.args, result: await loadValue(call.result, get) })),
  );
  const host = new RecordedHost(did);
  const guest = `again ${event}`;
  try {
    const outcome = await options.sandbox.run({
      guest,
      component: program.component,
      export: record.export,
      state: before.state === null ? undefined : await library.state(before.state),
      params: await Promise.all(record.params.map((value) => loadValue(value, get))),
      at: message.at,
      seed: message.seed,
      variables: variablesIn(did),
      listVariables: environment?.listAll ?? false,
      ...(random === undefined ? {} : { random }),
      outstanding: message.action === "request" ? [...before.outstanding, message.id] : before.outstanding,
      children: Object.keys(childrenOf(before, message)),
      limits: program.limits,
      host: () => host.again(),
      signal: new AbortController().signal,
    });
    return { outcome, host };
  } finally {
    options.sandbox.forget(guest);
  }
}

/** A child that ended is none any more when its parent is told. */
function childrenOf({ children }: GuestState, { action, args }: Message): GuestState["children"] {
  if (action !== "ended" && action !== "child-exit") return children;
  const gone = isJsonObject(args) ? args["child"] : undefined;
  return Object.fromEntries(Object.entries(children).filter(([, id]) => id !== gone));
}
