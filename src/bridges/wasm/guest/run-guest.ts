// Owns: calling an export of a guest, from the message to the turn, also if the call is interrupted. Does not own: the turn (turn-of-call.ts).
import { type ActorId, type Context, isJsonObject, isList, StoreError, type Turn, type Work } from "../../../core/contract/index.ts";
import { RequestCache } from "../host/call-effects.ts";
import type { CallEnvironment, Put } from "../host/call-environment.ts";
import { CallHost } from "../host/call-host.ts";
import { type GuestState, isGuestId, isGuestState, MAX_CHILDREN } from "../guest-state.ts";
import type { GuestCall, GuestHost, GuestOutcome } from "../sandbox.ts";
import { isAlive } from "../host/messages.ts";
import { messageOf } from "../wasm-error.ts";
import { callOf, type Program, type ProgramCache } from "./program-cache.ts";
import { prepare } from "./prepare.ts";
import { recordCall } from "./call-record.ts";
import {
  type Delivery,
  type ExportCall,
  type GuestRuntime,
  type Handler,
  isFromOperator,
  programRefusal,
  refusal,
} from "./guest-runtime.ts";
import { turnOfCall } from "./turn-of-call.ts";

export const runGuest =
  (runtime: GuestRuntime, delivery: Delivery, exportCall: ExportCall): Work<GuestState> =>
  async (context) => {
    const loaded = await load(runtime.programs, exportCall);
    if (loaded instanceof Error) {
      // A refused send would be lost: no one reads its reply. One that fails is a dead letter in the end, and can be replayed.
      if (!isAnswered(exportCall)) throw loaded;
      return programRefusal(loaded);
    }
    const { component } = loaded.program;
    return component.exports[exportCall.export] === undefined
      ? exportCall.ifNotExported
      : callExport(runtime, delivery, exportCall, loaded, context);
  };

const isAnswered = ({ isStart, request, export: name }: ExportCall): boolean =>
  isStart === true || request !== undefined || name === "message-server-client.handle-channel-open";

interface Loaded {
  readonly program: Program;
  readonly state: Uint8Array | undefined;
}

/** Returns an error that the caller receives. Throws if the store of a started guest fails, so that the message is delivered again. */
async function load(
  programs: ProgramCache,
  { state: { manifest, component, origin, state }, isStart }: ExportCall,
): Promise<Loaded | Error> {
  try {
    return { program: await programs.program(manifest, component, origin), state: await programs.state(state) };
  } catch (error) {
    if (!(error instanceof Error) || (error instanceof StoreError && isStart !== true)) throw error;
    return error;
  }
}

async function callExport(
  runtime: GuestRuntime,
  delivery: Delivery,
  exportCall: ExportCall,
  { program, state }: Loaded,
  context: Context,
): Promise<Turn<GuestState>> {
  const { programs, options, instances } = runtime;
  const hosts = new Map<GuestHost, CallHost>();
  const put = programs.putFor(delivery.self, delivery.seq);
  const environment = environmentOf(runtime, delivery, exportCall, program, context, put);
  instances.beforeCall(delivery.self, delivery.life, delivery.seq);
  try {
    const peers = await runtime.peers.check(delivery, exportCall.state.channels);
    const children = await unlistedChildren(runtime, delivery, exportCall.state);
    const from = options.clock.now();
    const outcome = await options.sandbox.run(guestCall(environment, exportCall, program, state, () => newHost(environment, hosts)));
    instances.recordDuration(delivery.self, delivery.life, Math.max(0, options.clock.now() - from), outcome.end !== "ok");
    const { effects } = hosts.get(outcome.host) ?? newHost(environment, hosts);
    // Listed from the next call on: this call must be repeatable from the state before it.
    for (const [uid, id] of children) effects.spawned.set(uid, id);
    const record = await recordCall(exportCall, outcome, put);
    const after = await stateAfter(programs, exportCall, outcome, put);
    // Its turn would be dropped. The catch block records its external effects.
    context.signal.throwIfAborted();
    if (outcome.end === "ok") {
      instances.afterCall(delivery.self, delivery.life, delivery.seq);
      runtime.peers.markChecked(delivery);
    }
    return { ...turnOfCall({ delivery, exportCall, program, outcome, effects, process: runtime.process, peers }, after), record };
  } catch (error) {
    instances.discard(delivery.self);
    void recordInterruptedCall(runtime, delivery, exportCall, [...hosts.values()], error);
    throw error;
  }
}

const stateAfter = async (programs: ProgramCache, { state }: ExportCall, outcome: GuestOutcome, put: Put): Promise<GuestState["state"]> =>
  outcome.end === "ok" ? programs.putState(outcome.state, state.state, put) : state.state;

function newHost(environment: CallEnvironment, hosts: Map<GuestHost, CallHost>): CallHost {
  const host = new CallHost(environment);
  hosts.set(host, host);
  return host;
}

function environmentOf(
  runtime: GuestRuntime,
  delivery: Delivery,
  exportCall: ExportCall,
  { manifest }: Program,
  context: Context,
  put: Put,
): CallEnvironment {
  const { message, uid, life, seq } = delivery;
  return {
    options: runtime.options,
    engine: runtime.engine(),
    kinds: runtime.kinds(),
    process: runtime.process,
    context,
    message,
    uid,
    life,
    seq,
    state: exportCall.state,
    outstanding: exportCall.request === undefined ? exportCall.state.outstanding : [...exportCall.state.outstanding, exportCall.request],
    manifest,
    requests: new RequestCache(),
    interruptedChannels: runtime.peers.interrupted,
    put,
    prepare: (start, starter) => prepare(runtime, start, starter),
  };
}

function guestCall(
  of: CallEnvironment,
  exportCall: ExportCall,
  program: Program,
  state: Uint8Array | undefined,
  host: () => GuestHost,
): GuestCall {
  return {
    ...callOf(program),
    guest: of.message.to,
    export: exportCall.export,
    state,
    params: exportCall.params,
    at: of.message.at,
    seed: of.message.seed,
    variables: program.variables,
    outstanding: of.outstanding,
    children: Object.keys(of.state.children),
    host,
    signal: of.context.signal,
  };
}

/**
 * Records a call that was interrupted: its actor was restarted or stopped, its caller left, or its time was over.
 *
 * C3: the turn is dropped with all effects of the call. External effects remain, so a message of its own informs the actor, whose
 * event then carries the record and whose state gets the children that the call spawned. Channels are closed at their other ends.
 *
 * Never rejects: if the engine or a store fails here, no one is left to be notified.
 */
async function recordInterruptedCall(
  runtime: GuestRuntime,
  delivery: Delivery,
  exportCall: ExportCall,
  hosts: readonly CallHost[],
  error: unknown,
): Promise<void> {
  try {
    // Requests in flight are answered, or cancelled with the call.
    await Promise.all(hosts.map((host) => host.whenIdle()));
    const did = hosts.flatMap(({ lastingCalls }) => lastingCalls);
    if (did.length === 0) return;
    await runtime.peers.closeInterrupted(
      delivery.self,
      hosts.flatMap(({ effects }) => [...effects.attempted.channels]),
    );
    const children = [...new Set(hosts.flatMap(({ effects }) => [...effects.attempted.children]))];
    if (!(await isAlive(runtime.engine(), delivery.self))) return await stopChildren(runtime, delivery.self, children);
    const message = messageOf(error);
    const record = await recordCall(exportCall, { did, end: "lost", message }, (bytes) => runtime.programs.put(bytes));
    await runtime.engine().send({ to: delivery.self, action: "cut", args: { children, record } });
  } catch {
    // See above.
  }
}

/** Stops children of a parent that never started, or stopped while it spawned them. */
async function stopChildren(runtime: GuestRuntime, parent: ActorId, children: readonly ActorId[]): Promise<void> {
  for (const [, id] of await livingChildren(runtime, parent, children)) await runtime.engine().stop(id, `its parent ${parent} has stopped`);
}

/**
 * Children that are missing in the actor's state, because a process ended during the call that spawned them. Empty if this life was
 * already checked in this process. Never rejects.
 */
async function unlistedChildren(
  runtime: GuestRuntime,
  delivery: Delivery,
  { children }: GuestState,
): Promise<readonly (readonly [string, ActorId])[]> {
  if (runtime.peers.hasChecked(delivery)) return [];
  const listed = new Set(Object.values(children));
  try {
    const ids = (await runtime.engine().children?.(delivery.self)) ?? [];
    return await livingChildren(runtime, delivery.self, ids.filter((id) => !listed.has(id)).slice(0, MAX_CHILDREN));
  } catch {
    // The next call checks again.
    return [];
  }
}

async function livingChildren(
  runtime: GuestRuntime,
  parent: ActorId,
  ids: readonly ActorId[],
): Promise<readonly (readonly [string, ActorId])[]> {
  const living: (readonly [string, ActorId])[] = [];
  for (const id of ids) {
    const now = await runtime.engine().read(id);
    if (now?.status !== "stopped" && isGuestState(now?.state) && now.state.parent === parent) living.push([now.state.id, id]);
  }
  return living;
}

/** Adds the children of an interrupted call. Idempotent: a repeated message, or one after a successful retry, only adds an event. */
export const interrupted: Handler = (runtime, { message, state, self }) => {
  const { args } = message;
  if (!isFromOperator(message) || !isJsonObject(args))
    return refusal("INVALID", "Only who runs an actor tells it what a call left behind.");
  const { children, record = null } = args;
  return async () => {
    const given = isList(children) ? children.filter(isGuestId).slice(0, MAX_CHILDREN) : [];
    const ids = given.filter((id) => !Object.values(state.children).includes(id));
    const added = await livingChildren(runtime, self, ids);
    const next: GuestState = { ...state, children: { ...state.children, ...Object.fromEntries(added) } };
    return { state: added.length === 0 ? state : next, record };
  };
};
