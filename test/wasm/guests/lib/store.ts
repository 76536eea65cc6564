import { area } from "../../../../examples/wasm/lib/abi";
import {
  storeNew,
  storeStore,
  storeGet,
  storeExists,
  storeLabel,
  storeGetByLabel,
  storeRemoveLabel,
  storeRemoveFromLabel,
  storeStoreAtLabel,
  storeReplaceContentAtLabel,
  storeReplaceAtLabel,
  storeListLabels,
  storeListAllContent,
  storeCalculateTotalSize,
} from "../../../../examples/wasm/lib/imports";
import { bool, listOfStrings, listed, optional, u64Of, unit } from "./replies";
import { at, encodedLast, encodedNext, Words } from "./words";

/** Empty where there is no such function. */
export function store(name: string, words: Words): string {
  const back = area(64);
  if (name == "new") {
    storeNew(back);
    return listed(back);
  }
  if (name == "store") {
    const a = encodedNext(words);
    const b = encodedLast(words);
    storeStore(at(a), a.byteLength, at(b), b.byteLength, back);
    return listed(back);
  }
  if (name == "get") {
    const a = encodedNext(words);
    const b = encodedLast(words);
    storeGet(at(a), a.byteLength, at(b), b.byteLength, back);
    return listed(back);
  }
  if (name == "exists") {
    const a = encodedNext(words);
    const b = encodedLast(words);
    storeExists(at(a), a.byteLength, at(b), b.byteLength, back);
    return bool(back);
  }
  if (name == "label") {
    const a = encodedNext(words);
    const b = encodedNext(words);
    const c = encodedLast(words);
    storeLabel(at(a), a.byteLength, at(b), b.byteLength, at(c), c.byteLength, back);
    return unit(back);
  }
  if (name == "get-by-label") {
    const a = encodedNext(words);
    const b = encodedLast(words);
    storeGetByLabel(at(a), a.byteLength, at(b), b.byteLength, back);
    return optional(back);
  }
  if (name == "remove-label") {
    const a = encodedNext(words);
    const b = encodedLast(words);
    storeRemoveLabel(at(a), a.byteLength, at(b), b.byteLength, back);
    return unit(back);
  }
  if (name == "remove-from-label") {
    const a = encodedNext(words);
    const b = encodedNext(words);
    const c = encodedLast(words);
    storeRemoveFromLabel(at(a), a.byteLength, at(b), b.byteLength, at(c), c.byteLength, back);
    return unit(back);
  }
  if (name == "store-at-label") {
    const a = encodedNext(words);
    const b = encodedNext(words);
    const c = encodedLast(words);
    storeStoreAtLabel(at(a), a.byteLength, at(b), b.byteLength, at(c), c.byteLength, back);
    return listed(back);
  }
  if (name == "replace-content-at-label") {
    const a = encodedNext(words);
    const b = encodedNext(words);
    const c = encodedLast(words);
    storeReplaceContentAtLabel(at(a), a.byteLength, at(b), b.byteLength, at(c), c.byteLength, back);
    return listed(back);
  }
  if (name == "replace-at-label") {
    const a = encodedNext(words);
    const b = encodedNext(words);
    const c = encodedLast(words);
    storeReplaceAtLabel(at(a), a.byteLength, at(b), b.byteLength, at(c), c.byteLength, back);
    return unit(back);
  }
  if (name == "list-labels") {
    const a = encodedLast(words);
    storeListLabels(at(a), a.byteLength, back);
    return listOfStrings(back);
  }
  if (name == "list-all-content") {
    const a = encodedLast(words);
    storeListAllContent(at(a), a.byteLength, back);
    return listOfStrings(back);
  }
  if (name == "calculate-total-size") {
    const a = encodedLast(words);
    storeCalculateTotalSize(at(a), a.byteLength, back);
    return u64Of(back);
  }
  return "";
}
