// Owns: the guests inside one worker: their instances, and calls that wait and continue. Does not own: one call in an instance (abi/run-call.ts).
import { type CoreModule, GuestTrap, NoRoom } from "../abi/webassembly.ts";
import { Instance } from "../abi/instance.ts";
import { runCall } from "../abi/run-call.ts";
import type { Component } from "../component/component.ts";
import type { HostCall } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import type { ImportName } from "../component/world.ts";
import type { CpuMeter } from "./cpu-limit.ts";
import { transferablesOf, type Ending, type FromWorker, tooLong, type ToWorker } from "./worker-protocol.ts";
import type { CallRecorder } from "./call-recorder.ts";

interface Running {
  readonly call: number;
  readonly guest: string;
  /** Microseconds that it may still compute. */
  left: number;
  /** Why it must end, while it still runs. */
  stop: "aborted" | "time" | undefined;
  /** Host calls answered here since the last message about it. */
  did: HostCall[];
  waiting: PromiseWithResolvers<WitValue> | undefined;
}

type Call = Extract<ToWorker, { readonly kind: "call" }>;

/** Matches the type of no import that waits, so it makes the guest trap. */
const INVALID_RESULT: WitValue = {};

/** Runs guests in this worker. */
export class WorkerHost {
  readonly #modules = new Map<string, { readonly module: CoreModule; readonly component: Component }>();
  /** In order of last use. */
  readonly #instances = new Map<string, { readonly key: string; readonly instance: Instance }>();
  readonly #running = new Map<number, Running>();
  readonly #meter: CpuMeter;
  readonly #recorder: CallRecorder;
  readonly #post: (message: FromWorker, transfer: readonly ArrayBuffer[]) => void;

  constructor(meter: CpuMeter, recorder: CallRecorder, post: (message: FromWorker, transfer: readonly ArrayBuffer[]) => void) {
    this.#meter = meter;
    this.#recorder = recorder;
    this.#post = post;
  }

  handle(message: ToWorker): void {
    switch (message.kind) {
      case "module":
        this.#modules.set(message.key, message);
        return;
      case "unload":
        this.#modules.delete(message.key);
        return;
      case "call":
        void this.#run(message);
        return;
      case "drop":
        for (const guest of message.guests) this.#instances.delete(guest);
        return;
      case "answer":
        this.#resume(message.call, (waiting) => waiting.resolve(message.result));
        return;
      case "refusal":
        this.#resume(message.call, (waiting) => waiting.reject(new Error(message.message)));
        return;
      case "abort": {
        const running = this.#running.get(message.call);
        if (running === undefined) return;
        running.stop = "aborted";
        // A suspended stack is never freed, nor is its memory, so it must resume and unwind.
        this.#resume(message.call, (waiting) => waiting.resolve(INVALID_RESULT));
      }
    }
  }

  async #run(message: Call): Promise<void> {
    const { call, guest, local } = message;
    const left = local.limits.callMs * 1_000;
    const running: Running = { call, guest, left, stop: undefined, did: [], waiting: undefined };
    this.#running.set(call, running);
    const evicted: string[] = [];
    this.#enter(running);
    const ended = await this.#ending(message, running, evicted);
    this.#leave(running);
    this.#running.delete(call);
    if (ended.end !== "ok" || running.stop !== undefined || this.#instances.get(guest)?.instance.needsReplacing === true)
      this.#instances.delete(guest);
    const { did } = running;
    const ending = running.stop === "time" ? { ...tooLong(local.limits.callMs), did } : { ...ended, did };
    const storedBytes = this.#instances.get(guest)?.instance.memoryBytes;
    this.#post(
      { kind: "end", call, ending, instanceBytes: storedBytes, evicted },
      ending.end === "ok" ? transferablesOf([ending.state, ending.back]) : [],
    );
  }

  async #ending(message: Call, running: Running, evicted: string[]): Promise<Ending> {
    try {
      const instance = this.#instanceOf(message, evicted);
      return await runCall(
        instance,
        message.local,
        (name, args) => this.#wait(running, name, args),
        (did) => this.#recordCall(running, did),
      );
    } catch (error) {
      if (error instanceof NoRoom) return { end: "no-room", did: [] };
      if (error instanceof GuestTrap) return { end: "trap", message: error.message, did: [] };
      throw error;
    }
  }

  #instanceOf({ guest, key }: Call, evicted: string[]): Instance {
    const cached = this.#instances.get(guest);
    this.#instances.delete(guest);
    if (cached?.key === key && !cached.instance.broken) {
      this.#instances.set(guest, cached);
      return cached.instance;
    }
    const loaded = this.#modules.get(key);
    if (loaded === undefined) throw new Error("A call came before its module");
    for (;;) {
      try {
        const instance = new Instance(loaded.module, loaded.component);
        this.#instances.set(guest, { key, instance });
        return instance;
      } catch (error) {
        if (!(error instanceof NoRoom) || !this.#evictIdle(evicted)) throw error;
      }
    }
  }

  /** Drops half of the idle instances, the longest idle first. Returns false if there are none. */
  #evictIdle(evicted: string[]): boolean {
    const busy = new Set([...this.#running.values()].map((running) => running.guest));
    const idle = [...this.#instances.keys()].filter((guest) => !busy.has(guest));
    for (const guest of idle.slice(0, Math.ceil(idle.length / 2))) {
      this.#instances.delete(guest);
      evicted.push(guest);
    }
    return idle.length > 0;
  }

  #wait(running: Running, name: ImportName, args: readonly WitValue[]): Promise<WitValue> {
    if (running.stop !== undefined) return Promise.resolve(INVALID_RESULT);
    this.#leave(running);
    if (running.left < 0) {
      // It computed in many short intervals, each too short for the watchdog.
      running.stop = "time";
      this.#enter(running);
      return Promise.resolve(INVALID_RESULT);
    }
    running.waiting = Promise.withResolvers();
    const { call, did, guest } = running;
    running.did = [];
    const bytes = this.#instances.get(guest)?.instance.memoryBytes ?? 0;
    this.#post({ kind: "wait", call, did, name, args, bytes }, transferablesOf(args));
    return running.waiting.promise;
  }

  #recordCall(running: Running, did: HostCall): void {
    running.did.push(did);
    if (this.#recorder.add(did)) return;
    this.#post({ kind: "calls", call: running.call, did: running.did }, []);
    running.did = [];
    this.#recorder.clear();
  }

  #resume(call: number, settle: (waiting: PromiseWithResolvers<WitValue>) => void): void {
    const running = this.#running.get(call);
    if (running?.waiting === undefined) return;
    const { waiting } = running;
    running.waiting = undefined;
    // The guest continues in a microtask of this message, before any other guest.
    this.#enter(running);
    settle(waiting);
  }

  #enter(running: Running): void {
    this.#recorder.clear();
    this.#meter.enter(running.call, running.left);
  }

  #leave(running: Running): void {
    running.left -= this.#meter.leave();
  }
}
