// As the asker beside, of what lies outside: environment, filesystem, http-client.
import { answer, channel, failed, optional, state, text, utf8 } from "../../../../examples/wasm/lib/abi";
import { filesystem } from "../lib/filesystem";
import { environment, httpClient } from "../lib/outside";
import { Done, run } from "../lib/script";
import { Words } from "../lib/words";
export { cabi_realloc, post } from "../../../../examples/wasm/lib/abi";

function ask(command: string, words: Words): string {
  const dot = command.indexOf(".");
  const at = command.slice(0, dot);
  const name = command.slice(dot + 1);
  if (at == "environment") return environment(name, words);
  if (at == "filesystem") return filesystem(name, words);
  if (at == "http-client") return httpClient(name, words);
  return "";
}

function done(before: ArrayBuffer | null, data: usize, dataLength: usize): Done {
  return run(text(data, dataLength), before, ask);
}

export function init(has: i32, at: usize, length: usize, _id: usize, _idLength: usize): usize {
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

export function handleChannelOpen(
  has: i32,
  at: usize,
  length: usize,
  _id: usize,
  _idLength: usize,
  _data: usize,
  _dataLength: usize,
): usize {
  return channel(optional(has, at, length), false, null);
}

export function handleChannelMessage(
  has: i32,
  at: usize,
  length: usize,
  _id: usize,
  _idLength: usize,
  _data: usize,
  _dataLength: usize,
): usize {
  return state(optional(has, at, length));
}

export function handleChannelClose(has: i32, at: usize, length: usize, _id: usize, _idLength: usize): usize {
  return state(optional(has, at, length));
}
