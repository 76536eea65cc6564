// Does what the first byte of its message says, or of its state where a message has none. README.md beside has the list.
import { optional } from "../../../../examples/wasm/lib/abi";
import { mischief } from "./mischief";
import { allocate, finished } from "./heap";

/** The host's way into its memory, and what is called after a result was read. */
export function cabi_realloc(old: usize, oldLength: usize, align: usize, length: usize): usize {
  return allocate(old, oldLength, align, length);
}
export function post(_result: usize): void {
  finished();
}

function done(has: i32, at: usize, length: usize, data: usize, dataLength: usize): usize {
  if (dataLength > 0) return mischief(load<u8>(data), data + 1, dataLength - 1, optional(has, at, length));
  return has != 0 && length > 0 ? mischief(load<u8>(at), at + 1, length - 1, null) : mischief(0, 0, 0, null);
}

export function init(has: i32, at: usize, length: usize, _id: usize, _idLength: usize): usize {
  return done(has, at, length, 0, 0);
}

export function handleSend(has: i32, at: usize, length: usize, data: usize, dataLength: usize): usize {
  return done(has, at, length, data, dataLength);
}

export function handleRequest(has: i32, at: usize, length: usize, _id: usize, _idLength: usize, data: usize, dataLength: usize): usize {
  return done(has, at, length, data, dataLength);
}

export function handleChannelOpen(has: i32, at: usize, length: usize, _id: usize, _idLength: usize, data: usize, dataLength: usize): usize {
  return done(has, at, length, data, dataLength);
}

export function handleChannelMessage(
  has: i32,
  at: usize,
  length: usize,
  _id: usize,
  _idLength: usize,
  data: usize,
  dataLength: usize,
): usize {
  return done(has, at, length, data, dataLength);
}

export function handleChannelClose(has: i32, at: usize, length: usize, _id: usize, _idLength: usize): usize {
  return done(has, at, length, 0, 0);
}

export function handleChildError(
  has: i32,
  at: usize,
  length: usize,
  _child: usize,
  _childLength: usize,
  _error: i32,
  hasData: i32,
  data: usize,
  dataLength: usize,
): usize {
  return done(has, at, length, data, hasData == 0 ? 0 : dataLength);
}

export function handleChildExit(
  has: i32,
  at: usize,
  length: usize,
  _child: usize,
  _childLength: usize,
  hasData: i32,
  data: usize,
  dataLength: usize,
): usize {
  return done(has, at, length, data, hasData == 0 ? 0 : dataLength);
}

export function handleChildExternalStop(has: i32, at: usize, length: usize, _child: usize, _childLength: usize): usize {
  return done(has, at, length, 0, 0);
}
