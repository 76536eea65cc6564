// The world of April 2025: requests are answered with their own data, sends are logged and become the state.
import { answer, bytes, channel, optional, state, utf8 } from "../../../../examples/wasm/lib/abi";
import { runtimeLog } from "./imports";
export { cabi_realloc, post } from "../../../../examples/wasm/lib/abi";

export function init(_has: i32, _at: usize, _length: usize, id: usize, idLength: usize): usize {
  return state(bytes(id, idLength));
}

export function handleSend(_has: i32, _at: usize, _length: usize, data: usize, dataLength: usize): usize {
  runtimeLog(data, dataLength);
  return state(bytes(data, dataLength));
}

export function handleRequest(has: i32, at: usize, length: usize, _id: usize, _idLength: usize, data: usize, dataLength: usize): usize {
  return answer(optional(has, at, length), bytes(data, dataLength));
}

/** Without the channel's id. */
export function handleChannelOpen(has: i32, at: usize, length: usize, data: usize, dataLength: usize): usize {
  return channel(optional(has, at, length), true, bytes(data, dataLength));
}

export function handleChannelMessage(
  _has: i32,
  _at: usize,
  _length: usize,
  _id: usize,
  _idLength: usize,
  data: usize,
  dataLength: usize,
): usize {
  return state(bytes(data, dataLength));
}

export function handleChannelClose(_has: i32, _at: usize, _length: usize, _id: usize, _idLength: usize): usize {
  return state(utf8("closed"));
}
