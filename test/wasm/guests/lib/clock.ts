import { area } from "../../../../examples/wasm/lib/abi";
import { timingDeadline, timingNow, timingSleep } from "../../../../examples/wasm/lib/imports";
import { unit } from "./replies";
import { Words } from "./words";

/** Empty where there is no such function. */
export function timing(name: string, words: Words): string {
  if (name == "now") return "ok " + timingNow().toString();
  const back = area(16);
  if (name == "sleep") timingSleep(U64.parseInt(words.next()), back);
  else if (name == "deadline") timingDeadline(U64.parseInt(words.next()), back);
  else return "";
  return unit(back);
}
