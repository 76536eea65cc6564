import type { JsonObject, Clock } from "../../core/contract/index.ts";
import { type NodePlace, NodeProcess, type NodeProgram } from "./node-process.ts";

/** It has drained long before; this is for one that hangs. */
const PAST_GRACE_MS = 3_000;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/** Who ran that long and ended has not failed at its start. */
const STEADY_MS = 30_000;

export interface DevNodeOptions {
  readonly place: NodePlace;
  readonly program: NodeProgram;
  readonly graceMs: number;
  readonly clock: Clock;
  /** What it writes. */
  readonly onLine: (line: string) => void;
  readonly onEnd: (why: string, againInMs: number) => void;
  readonly onReady: (pid: number | undefined) => void;
}

/** A node that is started again when it ends, each time after a longer pause. */
export class DevNode implements AsyncDisposable {
  readonly #options: DevNodeOptions;
  readonly #stop = Promise.withResolvers<"stop">();
  #process: NodeProcess;
  #stopping = false;

  constructor(options: DevNodeOptions) {
    this.#options = options;
    this.#process = new NodeProcess(options.program, options.onLine);
  }

  get place(): NodePlace {
    return this.#options.place;
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** What its first run says when it is ready; rejects where that ends before, which no further try would mend. */
  async begin(): Promise<JsonObject> {
    const ready = await this.#process.ready;
    if (ready === undefined) throw new Error(await this.#process.ended);
    void this.#mend();
    return ready;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping = true;
    this.#stop.resolve("stop");
    await this.#process.stop(this.#options.graceMs + PAST_GRACE_MS, this.#options.clock);
  }

  async #mend(): Promise<void> {
    const { program, clock, onLine, onEnd } = this.#options;
    let pauseMs = FIRST_PAUSE_MS;
    let since = clock.now();
    for (;;) {
      const why = await this.#process.ended;
      if (this.#stopping) return;
      if (clock.now() - since >= STEADY_MS) pauseMs = FIRST_PAUSE_MS;
      onEnd(why, pauseMs);
      const pause = Promise.withResolvers<"again">();
      const undo = clock.after(pauseMs, () => pause.resolve("again"));
      if ((await Promise.race([pause.promise, this.#stop.promise])) === "stop") return undo();
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      since = clock.now();
      this.#process = new NodeProcess(program, onLine);
      void this.#tell(this.#process);
    }
  }

  async #tell(run: NodeProcess): Promise<void> {
    if ((await run.ready) !== undefined) this.#options.onReady(run.pid);
  }
}
