// Owns: the main thread's side of one worker: its calls, instances and messages. Does not own: its thread (guest-thread.ts).
import type { LocalCall } from "../abi/run-call.ts";
import { bytesOutsideMemory } from "../component/memory-limits.ts";
import type { PendingCall } from "./pending-call.ts";
import type { FromWorker, ToWorker } from "./worker-protocol.ts";
import { InstanceTable } from "./instance-table.ts";
import type { GuestCall } from "../sandbox.ts";
import { GuestThread, type ThreadExit } from "./guest-thread.ts";
import { compiledImport } from "../abi/world-functions.ts";
import { messageOf } from "../wasm-error.ts";

/** How many calls are posted ahead, so that the worker never idles. */
const MAX_POSTED = 8;

const NO_ROOM = "There is no room in this process for one more guest's memory: let fewer calls run at once, or fewer instances be kept.";
const TOO_MANY_WAIT = "There is no room in this process for the memory of all guests that wait: let fewer calls run at once.";

type Wait = Extract<FromWorker, { readonly kind: "wait" }>;
type End = Extract<FromWorker, { readonly kind: "end" }>;

export interface WorkerOptions {
  readonly heapMb: number;
  readonly instances: number;
  readonly instanceBytes: number;
}

/** Why a worker ended. */
export interface WorkerExit {
  /** The call that was running, if it is still pending. */
  readonly culprit: PendingCall | undefined;
  /** Whether one call is known to be the cause. */
  readonly causeKnown: boolean;
  /** The error; undefined if the call exceeded its time. */
  readonly error: string | undefined;
}

/** What a worker reports to its pool. */
export interface WorkerEvents {
  /** It starts or continues to compute. */
  onComputing(pending: PendingCall): void;
  /** It waits for its host. `bytes`: the size of its memory. */
  onWaiting(pending: PendingCall, bytes: number): void;
  /** Its guest is free for the next call. */
  onDone(pending: PendingCall): void;
  onWorkerExit(worker: PoolWorker, calls: readonly PendingCall[], death: WorkerExit): void;
}

/** One worker, and the calls assigned to it. */
export class PoolWorker {
  readonly instances: InstanceTable;
  readonly #thread: GuestThread;
  readonly #events: WorkerEvents;
  readonly #modules = new Set<string>();
  readonly #backlog = new Set<PendingCall>();
  /** By attempt number. */
  readonly #posted = new Map<number, PendingCall>();
  /** Attempts that were posted and do not wait for their host. */
  readonly #computing = new Set<number>();
  #calls = 0;

  constructor(events: WorkerEvents, { heapMb, instances, instanceBytes }: WorkerOptions) {
    this.#events = events;
    this.instances = new InstanceTable(instances, instanceBytes);
    this.#thread = new GuestThread(
      heapMb,
      (message) => this.#onMessage(message),
      (end) => this.#onExit(end),
    );
  }

  get load(): number {
    return this.#posted.size + this.#backlog.size;
  }

  get acceptsCalls(): boolean {
    return this.#thread.acceptsCalls;
  }

  /** Whether a guest may be computing. */
  get isBusy(): boolean {
    return this.#computing.size > 0;
  }

  assign(pending: PendingCall): void {
    pending.worker = this;
    if (this.load === 0) this.#thread.ref();
    this.#backlog.add(pending);
    this.#drop(this.instances.callStarted(pending.call.guest));
    this.#postNext();
  }

  /** Its caller has left. */
  abort(pending: PendingCall): void {
    if (this.#backlog.delete(pending)) {
      this.#drop(this.instances.callEnded(pending.call.guest, undefined));
      this.#drop([pending.call.guest]);
      this.#onCallLeft(pending);
    }
    // A waiting call must continue in order to end.
    for (const [call, one] of this.#posted) if (one === pending) this.#postComputing(pending, { kind: "abort", call });
  }

  /** Ends a waiting call. */
  evict(pending: PendingCall): void {
    pending.isEvicted = true;
    this.abort(pending);
  }

  forget(guest: string): void {
    if (this.instances.delete(guest)) this.#drop([guest]);
  }

  unload(key: string): void {
    if (this.#modules.delete(key)) this.#thread.post({ kind: "unload", key });
  }

  checkCpuTime(): void {
    this.#thread.checkCpuTime();
  }

  end(): Promise<void> {
    return this.#thread.end();
  }

  #postNext(): void {
    for (const pending of this.#backlog) {
      if (this.#computing.size >= MAX_POSTED || !this.acceptsCalls) return;
      this.#backlog.delete(pending);
      this.#start(pending);
    }
  }

  #start(pending: PendingCall): void {
    const { key, module } = pending;
    const { guest, component } = pending.call;
    if (module !== undefined && !this.#modules.has(key)) {
      this.#modules.add(key);
      this.#thread.post({ kind: "module", key, module, component: { ...component, module: new Uint8Array() } });
    }
    const call = (this.#calls += 1);
    this.#posted.set(call, pending);
    this.#postComputing(pending, { kind: "call", call, guest, key, local: localCallOf(pending.call) });
  }

  #postComputing(pending: PendingCall, message: ToWorker & { readonly call: number }): void {
    this.#computing.add(message.call);
    this.#thread.post(message);
    this.#events.onComputing(pending);
  }

  #onMessage(message: FromWorker): void {
    const pending = this.#posted.get(message.call);
    if (pending === undefined) return;
    pending.did.push(...(message.kind === "end" ? message.ending.did : message.did));
    if (message.kind === "calls") return;
    if (message.kind === "end") this.#end(pending, message);
    else if (!pending.isSettled) {
      this.#computing.delete(message.call);
      pending.hasStarted = true;
      // A worker that is ending would cause the host call to be repeated.
      if (this.acceptsCalls) {
        pending.hostCall = this.#callHost(pending, message);
        this.#events.onWaiting(pending, message.bytes);
      }
    }
    this.#postNext();
  }

  async #callHost(pending: PendingCall, { call, name, args }: Wait): Promise<void> {
    let answer: ToWorker & { readonly call: number };
    try {
      const { result, lasting } = await pending.host.call(name, args);
      if (lasting === true) pending.hadLastingEffect = true;
      pending.did.push({ name, args, result });
      answer = { kind: "answer", call, result };
    } catch (error) {
      const message = messageOf(error);
      const result = compiledImport(name).fallible ? { err: message } : undefined;
      pending.did.push({ name, args, result });
      answer = result === undefined ? { kind: "refusal", call, message } : { kind: "answer", call, result };
    }
    if (this.#posted.get(call) === pending && !pending.isSettled && !pending.isEvicted) this.#postComputing(pending, answer);
  }

  #end(pending: PendingCall, { call, ending, instanceBytes, evicted }: End): void {
    const { guest } = pending.call;
    this.#posted.delete(call);
    this.#computing.delete(call);
    for (const one of evicted) this.instances.delete(one);
    this.#drop(
      this.instances.callEnded(guest, instanceBytes, instanceBytes === undefined ? 0 : bytesOutsideMemory(pending.call.component)),
    );
    // It continued after its caller had left, so its instance does not match its state.
    if (pending.isSettled) this.forget(guest);
    else if (pending.isEvicted) void this.#settleEvicted(pending);
    else pending.settle(ending.end === "no-room" ? { end: "lost", message: NO_ROOM } : ending);
    this.#onCallLeft(pending);
  }

  /** Waits for the host call in flight, so that it is recorded. */
  async #settleEvicted(pending: PendingCall): Promise<void> {
    await pending.hostCall;
    if (!pending.isSettled) pending.settle({ end: "lost", message: TOO_MANY_WAIT });
  }

  #onCallLeft(pending: PendingCall): void {
    if (this.load === 0) this.#thread.unref();
    this.#events.onDone(pending);
  }

  #drop(guests: readonly string[]): void {
    if (guests.length > 0) this.#thread.post({ kind: "drop", guests });
  }

  #onExit({ call, did, error }: ThreadExit): void {
    const guilty = this.#posted.get(call ?? 0);
    guilty?.did.push(...did);
    const calls = [...this.#posted.values(), ...this.#backlog];
    this.#posted.clear();
    this.#backlog.clear();
    this.#computing.clear();
    this.#events.onWorkerExit(this, calls, { culprit: guilty, error, causeKnown: call !== undefined });
  }
}

/** The part of a call that can be posted. */
function localCallOf(whole: GuestCall): LocalCall {
  const { export: name, state, params, at, seed, variables, listVariables, random, outstanding, children, limits } = whole;
  const local = { export: name, state, params, at, seed, variables, outstanding, children, limits };
  return { ...local, ...(listVariables !== undefined && { listVariables }), ...(random !== undefined && { random }) };
}
