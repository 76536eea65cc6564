// Answers each request with how many came before, by a count outside its state: a host that keeps instances shows it.
import { answer, channel, optional, state, utf8 } from "../../../../examples/wasm/lib/abi";
export { cabi_realloc, post } from "../../../../examples/wasm/lib/abi";

let calls = 0;

export function init(has: i32, at: usize, length: usize, _id: usize, _idLength: usize): usize {
  return state(optional(has, at, length));
}

/** Counts too, and traps, where there is data, after it has counted. */
export function handleSend(has: i32, at: usize, length: usize, _data: usize, dataLength: usize): usize {
  calls++;
  if (dataLength > 0) unreachable();
  return state(optional(has, at, length));
}

export function handleRequest(has: i32, at: usize, length: usize, _id: usize, _idLength: usize, _data: usize, _dataLength: usize): usize {
  return answer(optional(has, at, length), utf8((calls++).toString()));
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
