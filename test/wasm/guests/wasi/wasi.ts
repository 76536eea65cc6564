// What it gets of WASI, by command. A request is commands divided by a line of "&&", and answered the same way; a send keeps
// the answer as the state.
import { answer, area, failed, optional, state, text, utf8 } from "../../../../examples/wasm/lib/abi";
import { log } from "../../../../examples/wasm/lib/runtime";
import { timing } from "../lib/clock";
import { Done, run } from "../lib/script";
import { Words } from "../lib/words";
import {
  exit,
  getEnvironment,
  getStdout,
  instanceNetwork,
  monotonicNow,
  pollableBlock,
  pollableDrop,
  randomBytes,
  randomU64,
  streamDrop,
  streamWrite,
  subscribeDuration,
  wallNow,
} from "./imports";
export { cabi_realloc, post } from "../../../../examples/wasm/lib/abi";

const MILLISECOND: u64 = 1_000_000;

function randomOf(length: u64): string {
  const back = area(8);
  randomBytes(length, back);
  let hex = "";
  for (let i: usize = 0; i < load<usize>(back + 4); i++)
    hex += load<u8>(load<usize>(back) + i)
      .toString(16)
      .padStart(2, "0");
  return hex;
}

function wall(): string {
  const back = area(16);
  wallNow(back);
  return load<u64>(back).toString() + "." + load<u32>(back + 8).toString();
}

function wait(ms: u64): string {
  const before = monotonicNow();
  const timer = subscribeDuration(ms * MILLISECOND);
  pollableBlock(timer);
  pollableDrop(timer);
  return ((monotonicNow() - before) / MILLISECOND).toString();
}

function print(line: string): string {
  const encoded = utf8(line + "\n");
  const back = area(12);
  const stdout = getStdout();
  streamWrite(stdout, changetype<usize>(encoded), encoded.byteLength, back);
  streamDrop(stdout);
  return load<u8>(back) == 0 ? "printed" : "not printed";
}

function variables(): string {
  const back = area(8);
  getEnvironment(back);
  return load<i32>(back + 4).toString() + " variables";
}

function ask(name: string, words: Words): string {
  if (name == "bytes") return randomOf(U64.parseInt(words.next()));
  if (name == "u64") return randomU64().toString();
  if (name == "wall") return wall();
  if (name == "wait") return wait(U64.parseInt(words.next()));
  if (name == "print") return print(words.last());
  if (name == "environment") return variables();
  if (name == "network") return instanceNetwork().toString();
  if (name == "many") {
    const times = U64.parseInt(words.next());
    for (let i: u64 = 0; i < times; i++) monotonicNow();
    return "asked";
  }
  if (name == "exit") exit(0);
  if (name == "log") {
    log(words.last());
    return "logged";
  }
  return timing(name, words);
}

function done(before: ArrayBuffer | null, data: usize, dataLength: usize): Done {
  return run(text(data, dataLength), before, ask);
}

/** It prints before anything else. */
export function init(has: i32, at: usize, length: usize, _id: usize, _idLength: usize): usize {
  print("begins");
  return state(optional(has, at, length));
}

export function handleSend(has: i32, at: usize, length: usize, data: usize, dataLength: usize): usize {
  const did = done(optional(has, at, length), data, dataLength);
  return did.failed.length > 0 ? failed(did.failed) : state(utf8(did.said));
}

export function handleRequest(has: i32, at: usize, length: usize, _id: usize, _idLength: usize, data: usize, dataLength: usize): usize {
  const did = done(optional(has, at, length), data, dataLength);
  return did.failed.length > 0 ? failed(did.failed) : answer(did.next, utf8(did.said));
}
