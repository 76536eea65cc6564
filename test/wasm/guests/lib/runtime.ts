import { area } from "../../../../examples/wasm/lib/abi";
import { runtimeGetChain, runtimeGetState, runtimeLog, runtimeShutdown } from "../../../../examples/wasm/lib/imports";
import { chain, option, unit } from "./replies";
import { at, encodedLast, Words } from "./words";

/** Empty where there is no such function. */
export function runtime(name: string, words: Words): string {
  const back = area(16);
  if (name == "log") {
    const message = encodedLast(words);
    runtimeLog(at(message), message.byteLength);
    return "ok";
  }
  if (name == "get-state") {
    runtimeGetState(back);
    return option(back);
  }
  if (name == "get-chain") {
    runtimeGetChain(back);
    return chain(back);
  }
  if (name == "shutdown") {
    const data = encodedLast(words);
    runtimeShutdown(data.byteLength == 0 ? 0 : 1, at(data), data.byteLength, back);
    return unit(back);
  }
  return "";
}
