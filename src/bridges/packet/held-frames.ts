import { readPacket } from "./read-packet.ts";

interface Held {
  readonly frame: Uint8Array | string;
  readonly size: number;
  /** Read once, however many cancels ask for it: there may be megabytes of frames, and a cancel is short. */
  meant: Meant | undefined;
}

/** What a cancel can name. `none`: the frame is no request. */
interface Meant {
  readonly id?: string | undefined;
  readonly none?: true;
}

/** Frames that have come and not begun, the first first. */
export class HeldFrames {
  #frames: Held[] = [];
  #bytes = 0;

  get count(): number {
    return this.#frames.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(frame: Uint8Array | string): void {
    // A frame may be a few bytes of a whole read, which would be held with them.
    const own = typeof frame === "string" ? frame : new Uint8Array(frame);
    this.#frames.push({ frame: own, size: frame.length, meant: undefined });
    this.#bytes += frame.length;
  }

  shift(): Uint8Array | string | undefined {
    const first = this.#frames.shift();
    this.#bytes -= first?.size ?? 0;
    return first?.frame;
  }

  /** Takes out the requests of that id; a cancel is none. */
  takeRequests(id: unknown): readonly (Uint8Array | string)[] {
    const all = this.#frames;
    this.clear();
    const taken: (Uint8Array | string)[] = [];
    for (const one of all) {
      one.meant ??= meantBy(one.frame);
      if (one.meant.none === undefined && one.meant.id === id) taken.push(one.frame);
      else {
        this.#frames.push(one);
        this.#bytes += one.size;
      }
    }
    return taken;
  }

  clear(): void {
    this.#frames = [];
    this.#bytes = 0;
  }
}

function meantBy(frame: Uint8Array | string): Meant {
  const read = readPacket(frame);
  return "payload" in read && read.type !== "cancel" ? { id: read.id } : { none: true };
}
