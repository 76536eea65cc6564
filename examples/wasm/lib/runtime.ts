import { area, utf8 } from "./abi";
import { Outcome, unit } from "./outcome";

@external("theater:simple/runtime", "log")
declare function hostLog(at: usize, length: usize): void;
@external("theater:simple/runtime", "shutdown")
declare function hostShutdown(has: i32, at: usize, length: usize, back: usize): void;

export function log(message: string): void {
  const encoded = utf8(message);
  hostLog(changetype<usize>(encoded), encoded.byteLength);
}

export function shutdown(data: ArrayBuffer | null): Outcome {
  const back = area(12);
  if (data === null) hostShutdown(0, 0, 0, back);
  else hostShutdown(1, changetype<usize>(data), data.byteLength, back);
  return unit(back);
}
