import { type ActorId, type Context, isJsonObject, type Json, StoreError, type Turn, type Work } from "../../../core/contract/index.ts";
import { RequestCache } from "../host/call-effects.ts";
import { CallHost, type CallEnvironment, type Put } from "../host/call-host.ts";
import { type GuestState, isGuestState } from "../guest-state.ts";
import type { GuestCall, GuestHost, GuestOutcome } from "../sandbox.ts";
import { isAlive } from "../host/messages.ts";
import type { ProgramCache, Program } from "./program-cache.ts";
import { prepare } from "./prepare.ts";
import { recordCall } from "./call-record.ts";
import { type Delivery, isFromOperator, refusal, type GuestRuntime, programRefusal, type ExportCall } from "./guest-runtime.ts";
import { turnOfCall } from "./turn-of-call.ts";
import type { Handler } from "./message-handlers.ts";

/** One guest call, from the message to the turn. */

export const runGuest =
  (room: GuestRuntime, at: Delivery, visit: ExportCall): Work<GuestState> =>
  async (context) => {
    const found = await load(room.programs, visit);
    if (found instanceof Error) return programRefusal(found);
    const { component } = found.program;
    return component.exports[visit.export] === undefined ? visit.ifNotExported : callExport(room, at, visit, found, context);
  };

interface Loaded {
  readonly program: Program;
  readonly state: Uint8Array | undefined;
}

/** What is wrong with a guest is told to its caller; where a store fails a guest that has begun, the message has to come again. */
async function load(
  library: ProgramCache,
  { state: { manifest, component, origin, state }, isStart }: ExportCall,
): Promise<Loaded | Error> {
  try {
    return { program: await library.program(manifest, component, origin), state: await library.state(state) };
  } catch (error) {
    if (!(error instanceof Error) || (error instanceof StoreError && isStart !== true)) throw error;
    return error;
  }
}

async function callExport(
  room: GuestRuntime,
  at: Delivery,
  visit: ExportCall,
  { program, state }: Loaded,
  context: Context,
): Promise<Turn<GuestState>> {
  const { programs, options, instances } = room;
  const hosts = new Map<GuestHost, CallHost>();
  const put = programs.putFor(at.self, at.seq);
  const circumstances = environmentOf(room, at, visit, program, context, put);
  instances.beforeCall(at.self, at.life, at.seq);
  try {
    const ends = await room.peers.check(at, visit.state.channels);
    const children = await unlistedChildren(room, at, visit.state);
    const from = options.clock.now();
    const outcome = await options.sandbox.run(callOf(circumstances, visit, program, state, () => newHost(circumstances, hosts)));
    instances.recordDuration(at.self, at.life, Math.max(0, options.clock.now() - from), outcome.end !== "ok");
    const { effects } = hosts.get(outcome.host) ?? newHost(circumstances, hosts);
    // From its next call on, so that this one can run again from the state before it.
    for (const [uid, id] of children) effects.spawned.set(uid, id);
    const record = await recordCall(visit, outcome, put);
    const after = await stateAfter(programs, visit, outcome, put);
    // Its turn would be dropped: what was done is not.
    context.signal.throwIfAborted();
    if (outcome.end === "ok") {
      instances.afterCall(at.self, at.life, at.seq);
      room.peers.markChecked(at);
    }
    return { ...turnOfCall({ at, visit, program, outcome, gathered: effects, process: room.process, ends }, after), record };
  } catch (error) {
    instances.discard(at.self);
    void recordInterruptedCall(room, at, visit, [...hosts.values()], error);
    throw error;
  }
}

const stateAfter = async (library: ProgramCache, { state }: ExportCall, outcome: GuestOutcome, put: Put): Promise<GuestState["state"]> =>
  outcome.end === "ok" ? library.putState(outcome.state, state.state, put) : state.state;

function newHost(circumstances: CallEnvironment, hosts: Map<GuestHost, CallHost>): CallHost {
  const host = new CallHost(circumstances);
  hosts.set(host, host);
  return host;
}

function environmentOf(
  room: GuestRuntime,
  at: Delivery,
  visit: ExportCall,
  { manifest }: Program,
  context: Context,
  put: Put,
): CallEnvironment {
  const { options, programs } = room;
  const { message, uid, life, seq } = at;
  return {
    options,
    engine: room.engine(),
    kinds: room.kinds(),
    process: room.process,
    context,
    message,
    uid,
    life,
    seq,
    state: visit.state,
    outstanding: visit.request === undefined ? visit.state.outstanding : [...visit.state.outstanding, visit.request],
    manifest,
    requests: new RequestCache(),
    interruptedChannels: room.peers.interrupted,
    put,
    prepare: (start, starter) => prepare(options, programs, start, starter),
  };
}

function callOf(of: CallEnvironment, visit: ExportCall, program: Program, state: Uint8Array | undefined, host: () => GuestHost): GuestCall {
  const { component, limits, variables, manifest } = program;
  const { environment, random } = manifest.grants;
  return {
    guest: of.message.to,
    component,
    export: visit.export,
    state,
    params: visit.params,
    at: of.message.at,
    seed: of.message.seed,
    variables,
    listVariables: environment?.listAll ?? false,
    ...(random === undefined ? {} : { random }),
    outstanding: of.outstanding,
    children: Object.keys(of.state.children),
    limits,
    host,
    signal: of.context.signal,
  };
}

/**
 * A call that is cut short: the actor was restarted or stopped, its caller has left, its time is over.
 *
 * C3: its turn is dropped, and all it gathered. What it did meanwhile lasts all the same, so a message of its own tells the
 * actor, which leaves an event with the record and takes the children that were born. Channels are closed at their other ends.
 */

const MAX_CHILDREN = 1_000;

/** Never rejects: where the engine or a store fails now, there is nobody left to tell. */
async function recordInterruptedCall(
  room: GuestRuntime,
  at: Delivery,
  visit: ExportCall,
  hosts: readonly CallHost[],
  error: unknown,
): Promise<void> {
  try {
    // What was asked is answered, or is given up with the call.
    await Promise.all(hosts.map((host) => host.whenIdle()));
    const did = hosts.flatMap(({ lastingCalls }) => lastingCalls);
    if (did.length === 0) return;
    await room.peers.closeInterrupted(
      at.self,
      hosts.flatMap(({ effects }) => [...effects.attempted.channels]),
    );
    const children = [...new Set(hosts.flatMap(({ effects }) => [...effects.attempted.children]))];
    if (!(await isAlive({ engine: room.engine() }, at.self))) return await stopChildren(room, at.self, children);
    const message = error instanceof Error ? error.message : String(error);
    const record = await recordCall(visit, { did, end: "lost", message }, (bytes) => room.programs.put(bytes));
    await room.engine().send({ to: at.self, action: "cut", args: { children, record } });
  } catch {
    // Said above.
  }
}

/** Of a parent that never began, or has ended while they were born. */
async function stopChildren(room: GuestRuntime, parent: ActorId, children: readonly ActorId[]): Promise<void> {
  for (const [, id] of await livingChildren(room, parent, children)) await room.engine().stop(id, `its parent ${parent} has stopped`);
}

/**
 * Children that its state does not have: a process ended in the call that started them. None if this life has
 * looked in this process. Never rejects.
 */
async function unlistedChildren(
  room: GuestRuntime,
  at: Delivery,
  { children }: GuestState,
): Promise<readonly (readonly [string, ActorId])[]> {
  if (room.peers.hasChecked(at)) return [];
  const listed = new Set(Object.values(children));
  try {
    const ids = (await room.engine().children?.(at.self)) ?? [];
    return await livingChildren(room, at.self, ids.filter((id) => !listed.has(id)).slice(0, MAX_CHILDREN));
  } catch {
    // The next call looks.
    return [];
  }
}

async function livingChildren(
  room: GuestRuntime,
  parent: ActorId,
  ids: readonly ActorId[],
): Promise<readonly (readonly [string, ActorId])[]> {
  const living: (readonly [string, ActorId])[] = [];
  for (const id of ids) {
    const now = await room.engine().read(id);
    if (now?.status !== "stopped" && isGuestState(now?.state) && now.state.parent === parent) living.push([now.state.id, id]);
  }
  return living;
}

/** Told twice, or of a call that was tried again and has kept its children, it changes nothing but its chain. */
export const interrupted: Handler = (room, { message, state, self }) => {
  const { args } = message;
  if (!isFromOperator(message) || !isJsonObject(args))
    return refusal("INVALID", "Only who runs an actor tells it what a call left behind.");
  const { children, record = null } = args;
  return async () => {
    const ids = idsIn(children).filter((id) => !Object.values(state.children).includes(id));
    const born = await livingChildren(room, self, ids);
    const next: GuestState = { ...state, children: { ...state.children, ...Object.fromEntries(born) } };
    return { state: born.length === 0 ? state : next, record };
  };
};

const idsIn = (given: Json | undefined): readonly ActorId[] => (Array.isArray(given) ? given.filter(isGuestId).slice(0, MAX_CHILDREN) : []);

const isGuestId = (value: Json): value is ActorId => typeof value === "string" && value.startsWith("guest/");
