import { deserialize, serialize } from "node:v8";
import type { HostCall } from "../sandbox.ts";

/** What the two sides share. */
const BYTES = 65_536;
const HEAD = 4;

/**
 * The worker's side: host calls it answered itself since a guest entered. They stand in shared memory because a guest that
 * is killed sends no message, and its last words are those that explain it.
 */
export class Recorder {
  readonly #length: Int32Array;
  readonly #bytes: DataView;
  readonly #copy: Uint8Array;

  constructor(shared: SharedArrayBuffer) {
    this.#length = new Int32Array(shared, 0, 1);
    this.#bytes = new DataView(shared, HEAD);
    this.#copy = new Uint8Array(shared, HEAD);
  }

  clear(): void {
    Atomics.store(this.#length, 0, 0);
  }

  /** False: there is no room for it. */
  add(did: HostCall): boolean {
    const used = Atomics.load(this.#length, 0);
    const bytes = serialize(did);
    const end = used + HEAD + bytes.length;
    if (end > this.#copy.length) return false;
    this.#bytes.setUint32(used, bytes.length);
    this.#copy.set(bytes, used + HEAD);
    // Last: whoever reads after a death finds whole ones only.
    Atomics.store(this.#length, 0, end);
    return true;
  }
}

/** The main thread's side. */
export class RecorderReader {
  readonly shared = new SharedArrayBuffer(BYTES);

  read(): readonly HostCall[] {
    const [used = 0] = new Int32Array(this.shared, 0, 1);
    const bytes = Buffer.from(new Uint8Array(this.shared, HEAD, used));
    const did: HostCall[] = [];
    for (let at = 0; at < used;) {
      const from = at + HEAD;
      at = from + bytes.readUInt32BE(at);
      did.push(deserialize(bytes.subarray(from, at)));
    }
    return did;
  }
}
