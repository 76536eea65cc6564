import { area } from "../../../../examples/wasm/lib/abi";
import { randomGenerateUuid, randomRandomBytes, randomRandomFloat, randomRandomRange } from "../../../../examples/wasm/lib/imports";
import { f64Of, listed, u64Of } from "./replies";
import { Words } from "./words";

/** Empty where there is no such function. Bytes are said in hex. */
export function random(name: string, words: Words): string {
  const back = area(16);
  if (name == "random-bytes") {
    randomRandomBytes(U32.parseInt(words.next()), back);
    return load<u8>(back) != 0 ? listed(back) : "ok " + hex(load<usize>(back + 4), load<usize>(back + 8));
  }
  if (name == "random-range") {
    const least = U64.parseInt(words.next());
    randomRandomRange(least, U64.parseInt(words.next()), back);
    return u64Of(back);
  }
  if (name == "random-float") {
    randomRandomFloat(back);
    return f64Of(back);
  }
  if (name == "generate-uuid") {
    randomGenerateUuid(back);
    return listed(back);
  }
  return "";
}

function hex(first: usize, length: usize): string {
  let out = "";
  for (let i: usize = 0; i < length; i++) out += (<u32>load<u8>(first + i)).toString(16).padStart(2, "0");
  return out;
}
