import { Worker } from "node:worker_threads";
import type { LocalCall } from "../abi/index.ts";
import type { GuestCall, HostCall } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import type { ImportName } from "../world/interfaces.ts";
import type { Ended, Flight } from "./flight.ts";
import { mayFail } from "./may-fail.ts";
import { MeterReader } from "./meter.ts";
import type { FromWorker, Start, Told, ToWorker } from "./protocol.ts";
import { Residents } from "./residents.ts";

/** How many calls it is handed before it says what became of them: enough that it never waits for one. */
const AHEAD = 8;

const ENTRY = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);

type End = Extract<FromWorker, { readonly kind: "end" }>;

export interface WorkerOptions {
  readonly heapMb: number;
  readonly instances: number;
  readonly instanceBytes: number;
}

/** Why a worker ended. */
export interface Death {
  /** In whose call, if that is still open. */
  readonly guilty: Flight | undefined;
  /** How that call ended. */
  readonly ending: Ended;
  /** One call was the cause, so no other was. */
  readonly known: boolean;
}

/** What a worker tells its pool. */
export interface Pool {
  /** It begins to compute, or goes on. */
  started(flight: Flight): void;
  /** Its guest is free for the next. */
  over(flight: Flight): void;
  died(worker: PoolWorker, flights: readonly Flight[], death: Death): void;
}

/** The main thread's side of one worker. */
export class PoolWorker {
  readonly residents: Residents;
  readonly #worker: Worker;
  readonly #pool: Pool;
  readonly #meter = new MeterReader();
  readonly #modules = new Set<string>();
  readonly #backlog = new Set<Flight>();
  /** By the number of the attempt. */
  readonly #posted = new Map<number, Flight>();
  readonly #exited = Promise.withResolvers<void>();
  /** Posted, and not waiting for their host. */
  #computing = 0;
  #calls = 0;
  #seen = 0;
  #sampling = false;
  /** The attempt it is being killed for. */
  #condemned: number | undefined;
  #dead = false;
  #error: string | undefined;

  constructor(pool: Pool, { heapMb, instances, instanceBytes }: WorkerOptions) {
    this.#pool = pool;
    this.residents = new Residents(instances, instanceBytes);
    const start: Start = { meter: this.#meter.shared };
    this.#worker = new Worker(ENTRY, {
      workerData: start,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
      // What the process was started with may not fit a worker, and is none of a guest's business.
      execArgv: [],
      env: {},
      name: "troupe-guests",
    });
    this.#worker.unref();
    this.#worker.on("message", (message: FromWorker) => this.#hear(message));
    this.#worker.on("error", (error: unknown) => {
      this.#error = error instanceof Error ? error.message : String(error);
    });
    this.#worker.on("exit", () => this.#exit());
  }

  get load(): number {
    return this.#posted.size + this.#backlog.size;
  }

  /** It takes calls: it is not on its way out. */
  get open(): boolean {
    return this.#condemned === undefined && !this.#dead;
  }

  /** Some guest may be computing. */
  get busy(): boolean {
    return this.#computing > 0 && !this.#dead;
  }

  take(flight: Flight): void {
    flight.worker = this;
    if (this.load === 0) this.#worker.ref();
    this.#backlog.add(flight);
    this.#drop(this.residents.enter(flight.call.guest));
    this.#pump();
  }

  /** Nobody waits for it any longer. */
  abort(flight: Flight): void {
    if (this.#backlog.delete(flight)) {
      this.#left(flight);
      return;
    }
    for (const [call, one] of this.#posted) if (one === flight) this.#post({ kind: "abort", call });
  }

  forget(guest: string): void {
    if (this.residents.delete(guest)) this.#drop([guest]);
  }

  unload(key: string): void {
    if (this.#modules.delete(key)) this.#post({ kind: "unload", key });
  }

  /** One look at its meter. Gives a call to be killed when it has computed for too long. */
  sample(): void {
    const inside = this.#meter.inside();
    if (inside === undefined || this.#sampling || this.#condemned !== undefined) return;
    if (inside.entry !== this.#seen) {
      this.#seen = inside.entry;
      return;
    }
    this.#sampling = true;
    const judge = ({ user, system }: NodeJS.CpuUsage): void => {
      this.#sampling = false;
      if (this.#meter.inside()?.entry !== inside.entry || user + system < inside.until) return;
      this.#condemned = inside.call;
      void this.#worker.terminate();
    };
    // It answers though its guest spins: V8 interrupts it. Not once it is gone.
    this.#worker.cpuUsage().then(judge, () => undefined);
  }

  async end(): Promise<void> {
    void this.#worker.terminate();
    await this.#exited.promise;
  }

  #pump(): void {
    for (const flight of this.#backlog) {
      if (this.#computing >= AHEAD || !this.open) return;
      this.#backlog.delete(flight);
      this.#start(flight);
    }
  }

  #start(flight: Flight): void {
    const { key, module } = flight;
    const { guest, component } = flight.call;
    if (module !== undefined && !this.#modules.has(key)) {
      this.#modules.add(key);
      this.#post({ kind: "module", key, module, component: { ...component, module: new Uint8Array() } });
    }
    const call = (this.#calls += 1);
    this.#posted.set(call, flight);
    this.#computing += 1;
    this.#post({ kind: "call", call, guest, key, local: localOf(flight.call) });
    this.#pool.started(flight);
  }

  #hear(message: FromWorker): void {
    const flight = this.#posted.get(message.call);
    if (flight === undefined) return;
    this.#computing -= 1;
    if (message.kind === "end") {
      this.#posted.delete(message.call);
      this.#end(flight, message);
    } else {
      flight.begun = true;
      // What would be done for a worker that is on its way out would be done twice.
      if (this.#condemned === undefined && !flight.answered) flight.asking = this.#ask(message.call, flight, message.name, message.args);
    }
    this.#pump();
  }

  async #ask(call: number, flight: Flight, name: ImportName, args: readonly WitValue[]): Promise<void> {
    let answer: ToWorker;
    try {
      const { result, lasting } = await flight.host.call(name, args);
      if (lasting === true) flight.lasting = true;
      flight.did.push({ name, args, result });
      answer = { kind: "answer", call, result };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const result = mayFail(name) ? { err: message } : undefined;
      flight.did.push({ name, args, result });
      answer = result === undefined ? { kind: "refusal", call, message } : { kind: "answer", call, result };
    }
    if (this.#dead || flight.answered) return;
    this.#computing += 1;
    this.#post(answer);
    this.#pool.started(flight);
  }

  #end(flight: Flight, { ending, did, keptBytes, dropped }: End): void {
    for (const guest of dropped) this.residents.delete(guest);
    this.#drop(this.residents.leave(flight.call.guest, keptBytes));
    // Its guest computed on after its caller had left, so what it keeps in itself is not what its state says.
    if (flight.answered) this.forget(flight.call.guest);
    else if (ending.end === "no-room") {
      const message =
        "There is no room in this process for one more guest's memory: let fewer calls run at once, or fewer workers keep instances.";
      flight.answer({ end: "lost", message });
    } else flight.answer(ending, wholeOf(did, flight.did));
    this.#left(flight);
  }

  #left(flight: Flight): void {
    if (this.load === 0) this.#worker.unref();
    this.#pool.over(flight);
  }

  #drop(guests: readonly string[]): void {
    if (guests.length > 0) this.#post({ kind: "drop", guests });
  }

  #post(message: ToWorker): void {
    if (!this.#dead) this.#worker.postMessage(message, []);
  }

  #exit(): void {
    // What it had still said was heard before.
    const call = this.#condemned ?? this.#meter.inside()?.call;
    const guilty = this.#posted.get(call ?? 0);
    const flights = [...this.#posted.values(), ...this.#backlog];
    this.#dead = true;
    this.#posted.clear();
    this.#backlog.clear();
    this.#exited.resolve();
    this.#pool.died(this, flights, { guilty, known: call !== undefined, ending: this.#blame(guilty) });
  }

  #blame(guilty: Flight | undefined): Ended {
    if (this.#condemned === undefined)
      return { end: "trap", message: `Its worker died while the guest computed: ${this.#error ?? "it exited"}. Let it hold less at once.` };
    const ms = guilty?.call.limits.callMs;
    return { end: "killed", why: "time", message: `The guest computed for more than ${ms} ms in one call: let it do less in each.` };
  }
}

/** What can be sent. */
function localOf(whole: GuestCall): LocalCall {
  const { export: name, state, params, at, seed, variables, listVariables, random, outstanding, children, limits } = whole;
  const local = { export: name, state, params, at, seed, variables, outstanding, children, limits };
  return { ...local, ...(listVariables !== undefined && { listVariables }), ...(random !== undefined && { random }) };
}

function wholeOf(did: readonly Told[], asked: readonly HostCall[]): readonly HostCall[] {
  return did.flatMap((one) => (typeof one === "number" ? (asked[one] ?? []) : one));
}
