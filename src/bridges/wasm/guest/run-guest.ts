/** One guest call, from the message to the turn. */
import { type Context, StoreError, type Turn, type Work } from "../../../core/contract/index.ts";
import { Asked } from "../host/asked.ts";
import { CallHost, type Circumstances, type Put } from "../host/call-host.ts";
import type { GuestState } from "../guest-state.ts";
import type { GuestCall, GuestHost, GuestOutcome } from "../sandbox.ts";
import type { Library, Program } from "./library.ts";
import { cutShort, unlisted } from "./cut.ts";
import { prepare } from "./prepare.ts";
import { recordOf } from "./record.ts";
import type { Entered, Room } from "./room.ts";
import { turnOf } from "./turn-of-call.ts";
import { unfounded, type Visit } from "./visit.ts";

export const runs =
  (room: Room, at: Entered, visit: Visit): Work<GuestState> =>
  async (context) => {
    const found = await loaded(room.library, visit);
    if (found instanceof Error) return unfounded(found);
    const { component } = found.program;
    return component.exports[visit.export] === undefined ? visit.absent : called(room, at, visit, found, context);
  };

interface Loaded {
  readonly program: Program;
  readonly state: Uint8Array | undefined;
}

/** What is wrong with a guest is told to its caller; where a store fails a guest that has begun, the message has to come again. */
async function loaded(library: Library, { state: { manifest, component, origin, state }, begins }: Visit): Promise<Loaded | Error> {
  try {
    return { program: await library.program(manifest, component, origin), state: await library.state(state) };
  } catch (error) {
    if (!(error instanceof Error) || (error instanceof StoreError && begins !== true)) throw error;
    return error;
  }
}

async function called(room: Room, at: Entered, visit: Visit, { program, state }: Loaded, context: Context): Promise<Turn<GuestState>> {
  const { library, options, ran } = room;
  const hosts = new Map<GuestHost, CallHost>();
  const put = library.putting(at.self, at.seq);
  const circumstances = around(room, at, visit, program, context, put);
  ran.before(at.self, at.life, at.seq);
  try {
    const ends = await room.company.ends(at, visit.state.channels);
    const children = await unlisted(room, at, visit.state);
    const from = options.clock.now();
    const outcome = await options.sandbox.run(callOf(circumstances, visit, program, state, () => newHost(circumstances, hosts)));
    ran.took(at.self, at.life, Math.max(0, options.clock.now() - from), outcome.end !== "ok");
    const { gathered } = hosts.get(outcome.host) ?? newHost(circumstances, hosts);
    // From its next call on, so that this one can run again from the state before it.
    for (const [uid, id] of children) gathered.born.set(uid, id);
    const record = await recordOf(visit, outcome, put);
    const after = await stateAfter(library, visit, outcome, put);
    // Its turn would be dropped: what was done is not.
    context.signal.throwIfAborted();
    if (outcome.end === "ok") {
      ran.after(at.self, at.life, at.seq);
      room.company.looked(at);
    }
    return { ...turnOf({ at, visit, program, outcome, gathered, process: room.process, ends }, after), record };
  } catch (error) {
    ran.forget(at.self);
    void cutShort(room, at, visit, [...hosts.values()], error);
    throw error;
  }
}

const stateAfter = async (library: Library, { state }: Visit, outcome: GuestOutcome, put: Put): Promise<GuestState["state"]> =>
  outcome.end === "ok" ? library.putState(outcome.state, state.state, put) : state.state;

function newHost(circumstances: Circumstances, hosts: Map<GuestHost, CallHost>): CallHost {
  const host = new CallHost(circumstances);
  hosts.set(host, host);
  return host;
}

function around(room: Room, at: Entered, visit: Visit, { manifest }: Program, context: Context, put: Put): Circumstances {
  const { options, library } = room;
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
    asked: new Asked(),
    cut: room.company.cut,
    put,
    prepare: (start, starter) => prepare(options, library, start, starter),
  };
}

function callOf(of: Circumstances, visit: Visit, program: Program, state: Uint8Array | undefined, host: () => GuestHost): GuestCall {
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
