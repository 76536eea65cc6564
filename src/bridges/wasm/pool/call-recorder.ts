import { deserialize, serialize } from "node:v8";
import type { HostCall } from "../sandbox.ts";

/** What the two sides share. */
const BYTES = 65_536;
const HEAD = 4;
/** Set in the length of a line that was logged: its bytes are its text. */
const LOGGED = 0x8000_0000;
const LOG = "runtime.log";

/**
 * The worker's side: host calls it answered itself since a guest entered. They stand in shared memory because a guest that
 * is killed sends no message, and its last words are those that explain it.
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

  /** False: there is no room for it. */
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

  // Most calls are logs, and to serialize one takes longer than the call.
  #addLog(used: number, line: string): boolean {
    const from = used + HEAD;
    if (line.length * 3 > this.#copy.length - from) return false;
    const length = this.#copy.write(line, from, "utf8");
    this.#bytes.setUint32(used, LOGGED + length);
    return this.#publish(from + length);
  }

  /** Last: whoever reads after a death finds whole ones only. */
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
