import type { LocalCall } from "../abi/run-call.ts";
import { bytesOutsideMemory } from "../component/memory-limits.ts";
import type { Flight } from "./pending-call.ts";
import type { FromWorker, ToWorker } from "./worker-protocol.ts";
import { Residents } from "./instance-table.ts";
import type { GuestCall } from "../sandbox.ts";
import { GuestThread, type ThreadEnd } from "./guest-thread.ts";
import { compiledImport } from "../abi/world-functions.ts";

/** How many calls it is handed before it says what became of them: enough that it never waits for one. */
const AHEAD = 8;

const NO_ROOM = "There is no room in this process for one more guest's memory: let fewer calls run at once, or fewer instances be kept.";
const CROWDED = "There is no room in this process for the memory of all guests that wait: let fewer calls run at once.";

type Wait = Extract<FromWorker, { readonly kind: "wait" }>;
type End = Extract<FromWorker, { readonly kind: "end" }>;

export interface WorkerOptions {
  readonly heapMb: number;
  readonly instances: number;
  readonly instanceBytes: number;
}

/** How a worker ended. */
export interface Death {
  /** In whose call, if that is still open. */
  readonly guilty: Flight | undefined;
  /** One call was the cause, so no other was. */
  readonly known: boolean;
  /** Why, where it was not that call's time. */
  readonly error: string | undefined;
}

/** What a worker tells its pool. */
export interface Pool {
  /** It begins to compute, or goes on. */
  computes(flight: Flight): void;
  /** For its host, with so many bytes of memory. */
  waits(flight: Flight, bytes: number): void;
  /** Its guest is free for the next. */
  over(flight: Flight): void;
  died(worker: PoolWorker, flights: readonly Flight[], death: Death): void;
}

/** The main thread's side of one worker: the calls it has. */
export class PoolWorker {
  readonly residents: Residents;
  readonly #thread: GuestThread;
  readonly #pool: Pool;
  readonly #modules = new Set<string>();
  readonly #backlog = new Set<Flight>();
  /** By the number of the attempt. */
  readonly #posted = new Map<number, Flight>();
  /** Posted, and not waiting for their host. */
  readonly #computing = new Set<number>();
  #calls = 0;

  constructor(pool: Pool, { heapMb, instances, instanceBytes }: WorkerOptions) {
    this.#pool = pool;
    this.residents = new Residents(instances, instanceBytes);
    this.#thread = new GuestThread(
      heapMb,
      (message) => this.#hear(message),
      (end) => this.#died(end),
    );
  }

  get load(): number {
    return this.#posted.size + this.#backlog.size;
  }

  /** It takes calls. */
  get open(): boolean {
    return this.#thread.open;
  }

  /** Some guest may be computing. */
  get busy(): boolean {
    return this.#computing.size > 0;
  }

  take(flight: Flight): void {
    flight.worker = this;
    if (this.load === 0) this.#thread.hold();
    this.#backlog.add(flight);
    this.#drop(this.residents.enter(flight.call.guest));
    this.#pump();
  }

  /** Nobody waits for it any longer. */
  abort(flight: Flight): void {
    if (this.#backlog.delete(flight)) {
      this.#drop(this.residents.leave(flight.call.guest, undefined));
      this.#drop([flight.call.guest]);
      this.#left(flight);
    }
    // Where it waits it goes on, to end.
    for (const [call, one] of this.#posted) if (one === flight) this.#compute(flight, { kind: "abort", call });
  }

  /** It waits, and may no longer. */
  crowdOut(flight: Flight): void {
    flight.crowdedOut = true;
    this.abort(flight);
  }

  forget(guest: string): void {
    if (this.residents.delete(guest)) this.#drop([guest]);
  }

  unload(key: string): void {
    if (this.#modules.delete(key)) this.#thread.post({ kind: "unload", key });
  }

  sample(): void {
    this.#thread.sample();
  }

  end(): Promise<void> {
    return this.#thread.end();
  }

  #pump(): void {
    for (const flight of this.#backlog) {
      if (this.#computing.size >= AHEAD || !this.open) return;
      this.#backlog.delete(flight);
      this.#start(flight);
    }
  }

  #start(flight: Flight): void {
    const { key, module } = flight;
    const { guest, component } = flight.call;
    if (module !== undefined && !this.#modules.has(key)) {
      this.#modules.add(key);
      this.#thread.post({ kind: "module", key, module, component: { ...component, module: new Uint8Array() } });
    }
    const call = (this.#calls += 1);
    this.#posted.set(call, flight);
    this.#compute(flight, { kind: "call", call, guest, key, local: localOf(flight.call) });
  }

  #compute(flight: Flight, message: ToWorker & { readonly call: number }): void {
    this.#computing.add(message.call);
    this.#thread.post(message);
    this.#pool.computes(flight);
  }

  #hear(message: FromWorker): void {
    const flight = this.#posted.get(message.call);
    if (flight === undefined) return;
    flight.did.push(...(message.kind === "end" ? message.ending.did : message.did));
    if (message.kind === "told") return;
    if (message.kind === "end") this.#end(flight, message);
    else if (!flight.answered) {
      this.#computing.delete(message.call);
      flight.begun = true;
      // What would be done for a worker on its way out would be done twice.
      if (this.open) {
        flight.asking = this.#ask(flight, message);
        this.#pool.waits(flight, message.bytes);
      }
    }
    this.#pump();
  }

  async #ask(flight: Flight, { call, name, args }: Wait): Promise<void> {
    let answer: ToWorker & { readonly call: number };
    try {
      const { result, lasting } = await flight.host.call(name, args);
      if (lasting === true) flight.lasting = true;
      flight.did.push({ name, args, result });
      answer = { kind: "answer", call, result };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const result = compiledImport(name).fallible ? { err: message } : undefined;
      flight.did.push({ name, args, result });
      answer = result === undefined ? { kind: "refusal", call, message } : { kind: "answer", call, result };
    }
    if (this.#posted.get(call) === flight && !flight.answered && !flight.crowdedOut) this.#compute(flight, answer);
  }

  #end(flight: Flight, { call, ending, keptBytes, dropped }: End): void {
    const { guest } = flight.call;
    this.#posted.delete(call);
    this.#computing.delete(call);
    for (const one of dropped) this.residents.delete(one);
    this.#drop(this.residents.leave(guest, keptBytes, keptBytes === undefined ? 0 : bytesOutsideMemory(flight.call.component)));
    // It went on after its caller had left, so what its instance holds is not what its state says.
    if (flight.answered) this.forget(guest);
    else if (flight.crowdedOut) void this.#lost(flight);
    else flight.answer(ending.end === "no-room" ? { end: "lost", message: NO_ROOM } : ending);
    this.#left(flight);
  }

  /** When its host has finished its last call, which is on record. */
  async #lost(flight: Flight): Promise<void> {
    await flight.asking;
    if (!flight.answered) flight.answer({ end: "lost", message: CROWDED });
  }

  #left(flight: Flight): void {
    if (this.load === 0) this.#thread.release();
    this.#pool.over(flight);
  }

  #drop(guests: readonly string[]): void {
    if (guests.length > 0) this.#thread.post({ kind: "drop", guests });
  }

  #died({ call, did, error }: ThreadEnd): void {
    const guilty = this.#posted.get(call ?? 0);
    guilty?.did.push(...did);
    const flights = [...this.#posted.values(), ...this.#backlog];
    this.#posted.clear();
    this.#backlog.clear();
    this.#computing.clear();
    this.#pool.died(this, flights, { guilty, error, known: call !== undefined });
  }
}

/** What can be sent. */
function localOf(whole: GuestCall): LocalCall {
  const { export: name, state, params, at, seed, variables, listVariables, random, outstanding, children, limits } = whole;
  const local = { export: name, state, params, at, seed, variables, outstanding, children, limits };
  return { ...local, ...(listVariables !== undefined && { listVariables }), ...(random !== undefined && { random }) };
}
