import type { Channel } from "../contract/index.ts";
import { Outlet, type OutletDoor, type Sink } from "./outlet.ts";
import type { RoundBatch } from "./round-batch.ts";

// More than this waiting is written at once.
const BATCH_CHARACTERS = 65_536;

export interface LineChannelOptions extends OutletDoor {
  readonly sink: Sink;
  /** Of a door with many clients. Absent: what is sent within one tick leaves in one write. */
  readonly batch?: RoundBatch<LineChannel>;
  /** Ends the way out after what was written. */
  readonly end: () => void;
}

/** One JSON text a line. What is sent within one tick, or one round of the event loop, leaves in one write. */
export class LineChannel implements Channel {
  readonly #outlet: Outlet;
  readonly #together: RoundBatch<LineChannel> | undefined;
  readonly #end: () => void;
  readonly #gone = new AbortController();
  #batch = "";
  #ended = false;

  constructor(options: LineChannelOptions) {
    this.#end = options.end;
    this.#together = options.batch;
    this.#outlet = new Outlet(options.sink, options);
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get ready(): boolean {
    return !this.#ended && this.#outlet.ready;
  }

  /** Bytes that wait for the client to read. */
  get queued(): number {
    return this.#outlet.queued + this.#batch.length;
  }

  onReady(run: () => void): () => void {
    return this.#outlet.onReady(run);
  }

  send(text: string): void {
    if (this.#ended) return;
    const first = this.#batch === "";
    // A line break in JSON is only ever white space between its parts.
    this.#batch += text.includes("\n") || text.includes("\r") ? `${text.replace(/[\r\n]+/g, " ")}\n` : `${text}\n`;
    if (this.#batch.length >= BATCH_CHARACTERS) this.flush();
    // Last: it may be its turn at once.
    else if (first) this.#later();
    else this.#together?.grown();
  }

  close(): void {
    if (this.#ended) return;
    this.flush();
    this.#ended = true;
    this.#outlet.finish();
    this.#end();
  }

  /** The client has gone. */
  lose(): void {
    this.#ended = true;
    this.#batch = "";
    this.#outlet.end();
    this.#gone.abort();
  }

  /** What waits is written. */
  flush(): void {
    if (this.#batch === "" || this.#ended) return;
    const batch = this.#batch;
    this.#batch = "";
    this.#outlet.write(batch);
  }

  #later(): void {
    if (this.#together !== undefined) this.#together.add(this);
    else process.nextTick(flush, this);
  }
}

const flush = (channel: LineChannel): void => channel.flush();
