interface Held {
  readonly frame: Uint8Array | string;
  readonly size: number;
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
    this.#frames.push({ frame: own, size: frame.length });
    this.#bytes += frame.length;
  }

  shift(): Uint8Array | string | undefined {
    const first = this.#frames.shift();
    this.#bytes -= first?.size ?? 0;
    return first?.frame;
  }

  /** Takes out those it is true of. */
  take(wanted: (frame: Uint8Array | string) => boolean): readonly (Uint8Array | string)[] {
    const all = this.#frames;
    this.clear();
    const taken: (Uint8Array | string)[] = [];
    for (const one of all) {
      if (wanted(one.frame)) taken.push(one.frame);
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
