import { bytes, text } from "./abi";

/** The result of an import that may fail. */
export class Outcome {
  constructor(
    readonly ok: bool,
    /** Empty if the import returns no data. */
    readonly bytes: ArrayBuffer,
    readonly error: string,
  ) {}
}

const ERR: u8 = 1;

export function unit(back: usize): Outcome {
  return load<u8>(back) == ERR ? failure(back, 4) : new Outcome(true, new ArrayBuffer(0), "");
}

/** For results of type `list<u8>` or `string`. */
export function listed(back: usize): Outcome {
  return load<u8>(back) == ERR ? failure(back, 4) : new Outcome(true, bytes(load<usize>(back + 4), load<usize>(back + 8)), "");
}

export function failure(back: usize, payload: usize): Outcome {
  return new Outcome(false, new ArrayBuffer(0), text(load<usize>(back + payload), load<usize>(back + payload + 4)));
}
