import { constants, type Http2Stream } from "node:http2";
import type { JsonObject } from "../../core/contract/index.ts";
import { readFrame } from "./frame.ts";
import { LineReader } from "./line-reader.ts";

/** Enough for any greeting, too little to be worth a stranger's while. */
const GREETING_BYTES = 2_048;
/** A frame's own words beside its topic and message. */
const FRAME_MARGIN = 256;
const SILENT_BEATS = 5;

export interface WireOptions {
  readonly stream: Http2Stream;
  readonly frameBytes: number;
  readonly queueBytes: number;
  readonly receive: (frame: JsonObject) => void;
  /** Once, with the reason. */
  readonly closed: (why: string) => void;
}

/** One stream between two nodes: a JSON object per line, both ways, bounded both ways. */
export class Wire {
  readonly #options: WireOptions;
  readonly #lines = new LineReader();
  #lineBytes = GREETING_BYTES;
  #silent = 0;
  #closed = false;

  constructor(options: WireOptions) {
    this.#options = options;
    const { stream } = options;
    stream.on("data", (chunk: Uint8Array) => this.#read(chunk));
    stream.once("end", () => this.close("ended"));
    stream.once("close", () => this.close("ended"));
    stream.on("error", (error: NodeJS.ErrnoException) => this.close(error.code ?? error.name));
  }

  /** The other side is a node: it may send whole frames. */
  trust(): void {
    this.#lineBytes = this.#options.frameBytes + FRAME_MARGIN;
  }

  /** False: it is not on its way, since the other side does not read, or has gone. */
  send(text: string): boolean {
    const { stream, queueBytes } = this.#options;
    if (this.#closed || stream.writableLength + Buffer.byteLength(text) > queueBytes) return false;
    stream.write(`${text}\n`);
    return true;
  }

  /** Counts beats of silence, not time: a process that stood still finds what it was sent in the meantime before it gives up. */
  beat(text: string): void {
    this.#silent += 1;
    if (this.#silent > SILENT_BEATS) this.close("silent");
    else this.send(text);
  }

  /** `end` is how the stream ends: by default at once. */
  close(why: string, end = (): void => this.#reset()): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#lines.stop();
    end();
    this.#options.closed(why);
  }

  #reset(): void {
    const { stream } = this.#options;
    // Destroyed alone, it would be reset without an error, after which the other side still waits for what it has not written.
    stream.close(constants.NGHTTP2_CANCEL);
    stream.destroy();
  }

  #read(chunk: Uint8Array): void {
    this.#silent = 0;
    const fits = this.#lines.push(
      chunk,
      () => this.#lineBytes,
      (line) => {
        const frame = readFrame(line);
        if (frame === undefined) this.close("bad-frame");
        else this.#options.receive(frame);
      },
    );
    if (!fits) this.close("too-long");
  }
}
