// Owns: host calls that a worker answers itself, in shared memory, so that they survive a kill.
import { deserialize, serialize } from "node:v8";
import type { HostCall } from "../sandbox.ts";

/** Size of the shared memory. */
const BYTES = 65_536;
const HEAD = 4;
/** A flag in the length of a log line, whose bytes are plain text. */
const LOGGED = 0x8000_0000;
const LOG = "runtime.log";

/**
 * The worker's side: host calls answered locally since a guest entered. They are in shared memory, since a guest that is killed
 * sends no message, and its last log lines explain the kill.
 */
export class CallRecorder {
  readonly #length: Int32Array;
  readonly #bytes: DataView;
  readonly #copy: Buffer;

  constructor(shared: SharedArrayBuffer) {
    this.#length = new Int32Array(shared, 0, 1);
    this.#bytes = new DataView(shared, HEAD);
    this.#copy = Buffer.from(shared, HEAD);
  }

  clear(): void {
    Atomics.store(this.#length, 0, 0);
  }

  /** Returns false if there is no room. */
  add(did: HostCall): boolean {
    const used = Atomics.load(this.#length, 0);
    const line = did.args[0];
    if (did.name === LOG && typeof line === "string") return this.#addLog(used, line);
    const bytes = serialize(did);
    const end = used + HEAD + bytes.length;
    if (end > this.#copy.length) return false;
    this.#bytes.setUint32(used, bytes.length);
    this.#copy.set(bytes, used + HEAD);
    return this.#publish(end);
  }

  // Most calls are logs, and serializing one takes longer than the call.
  #addLog(used: number, line: string): boolean {
    const from = used + HEAD;
    if (line.length * 3 > this.#copy.length - from) return false;
    const length = this.#copy.write(line, from, "utf8");
    this.#bytes.setUint32(used, LOGGED + length);
    return this.#publish(from + length);
  }

  /** Called last, so a reader finds complete entries only. */
  #publish(end: number): true {
    Atomics.store(this.#length, 0, end);
    return true;
  }
}

/** The main thread's side. */
export class CallRecorderReader {
  readonly shared = new SharedArrayBuffer(BYTES);

  read(): readonly HostCall[] {
    const [used = 0] = new Int32Array(this.shared, 0, 1);
    const bytes = Buffer.from(new Uint8Array(this.shared, HEAD, used));
    const did: HostCall[] = [];
    for (let at = 0; at < used;) {
      const from = at + HEAD;
      const length = bytes.readUInt32BE(at);
      at = from + (length % LOGGED);
      did.push(length >= LOGGED ? logCall(bytes.toString("utf8", from, at)) : deserialize(bytes.subarray(from, at)));
    }
    return did;
  }
}

const logCall = (line: string): HostCall => ({ name: LOG, args: [line], result: undefined });
