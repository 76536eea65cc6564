import { area, utf8 } from "./abi";
import { runtimeLog, runtimeShutdown } from "./imports";
import { Outcome, unit } from "./outcome";

export function log(message: string): void {
  const encoded = utf8(message);
  runtimeLog(changetype<usize>(encoded), encoded.byteLength);
}

export function shutdown(data: ArrayBuffer | null): Outcome {
  const back = area(12);
  if (data === null) runtimeShutdown(0, 0, 0, back);
  else runtimeShutdown(1, changetype<usize>(data), data.byteLength, back);
  return unit(back);
}
