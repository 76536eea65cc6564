import { bytes, text } from "./abi";

/** What came back of an import that may fail. */
export class Outcome {
  constructor(
    readonly ok: bool,
    /** Empty where nothing came with it. */
    readonly bytes: ArrayBuffer,
    readonly error: string,
  ) {}
}

const ERR: u8 = 1;

export function unit(back: usize): Outcome {
  return load<u8>(back) == ERR ? failure(back, 4) : new Outcome(true, new ArrayBuffer(0), "");
}

/** Of `list<u8>` and of `string`. */
export function listed(back: usize): Outcome {
  return load<u8>(back) == ERR ? failure(back, 4) : new Outcome(true, bytes(load<usize>(back + 4), load<usize>(back + 8)), "");
}

export function failure(back: usize, payload: usize): Outcome {
  return new Outcome(false, new ArrayBuffer(0), text(load<usize>(back + payload), load<usize>(back + payload + 4)));
}
