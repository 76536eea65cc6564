import { area } from "../../../../examples/wasm/lib/abi";
import {
  supervisorSpawn,
  supervisorResume,
  supervisorListChildren,
  supervisorStopChild,
  supervisorRestartChild,
  supervisorGetChildState,
  supervisorGetChildEvents,
} from "../../../../examples/wasm/lib/imports";
import { childEvents, listed, optional, strings, unit } from "./replies";
import { at, encodedLast, encodedNext, Words } from "./words";

/** Empty where there is no such function. */
export function supervisor(name: string, words: Words): string {
  const back = area(64);
  // Its first word is the state it begins with.
  if (name == "spawn-with") {
    const b = encodedNext(words);
    const a = encodedLast(words);
    supervisorSpawn(at(a), a.byteLength, 1, at(b), b.byteLength, back);
    return listed(back);
  }
  if (name == "spawn") {
    const a = encodedLast(words);
    supervisorSpawn(at(a), a.byteLength, 0, 0, 0, back);
    return listed(back);
  }
  // Its first word is the state it begins with.
  if (name == "resume-with") {
    const b = encodedNext(words);
    const a = encodedLast(words);
    supervisorResume(at(a), a.byteLength, 1, at(b), b.byteLength, back);
    return listed(back);
  }
  if (name == "resume") {
    const a = encodedLast(words);
    supervisorResume(at(a), a.byteLength, 0, 0, 0, back);
    return listed(back);
  }
  if (name == "list-children") {
    supervisorListChildren(back);
    return strings(back);
  }
  if (name == "stop-child") {
    const a = encodedLast(words);
    supervisorStopChild(at(a), a.byteLength, back);
    return unit(back);
  }
  if (name == "restart-child") {
    const a = encodedLast(words);
    supervisorRestartChild(at(a), a.byteLength, back);
    return unit(back);
  }
  if (name == "get-child-state") {
    const a = encodedLast(words);
    supervisorGetChildState(at(a), a.byteLength, back);
    return optional(back);
  }
  if (name == "get-child-events") {
    const a = encodedLast(words);
    supervisorGetChildEvents(at(a), a.byteLength, back);
    return childEvents(back);
  }
  return "";
}
