// Requests are answered with their own data, sends become the state, channels are accepted and answer with what they were
// opened with; what happened to a child becomes the state, as text.
import { answer, bytes, channel, optional, state, text, utf8 } from "../../../../examples/wasm/lib/abi";
export { cabi_realloc, post } from "../../../../examples/wasm/lib/abi";

export function init(has: i32, at: usize, length: usize, _id: usize, _idLength: usize): usize {
  return state(optional(has, at, length));
}

export function handleSend(_has: i32, _at: usize, _length: usize, data: usize, dataLength: usize): usize {
  return state(bytes(data, dataLength));
}

export function handleRequest(has: i32, at: usize, length: usize, _id: usize, _idLength: usize, data: usize, dataLength: usize): usize {
  return answer(optional(has, at, length), bytes(data, dataLength));
}

export function handleChannelOpen(has: i32, at: usize, length: usize, _id: usize, _idLength: usize, data: usize, dataLength: usize): usize {
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

export function handleChannelClose(_has: i32, _at: usize, _length: usize, id: usize, idLength: usize): usize {
  return state(utf8("closed " + text(id, idLength)));
}

/** error <child> <the error's number> <its data> */
export function handleChildError(
  _has: i32,
  _at: usize,
  _length: usize,
  child: usize,
  childLength: usize,
  error: i32,
  hasData: i32,
  data: usize,
  dataLength: usize,
): usize {
  return state(utf8("error " + text(child, childLength) + " " + error.toString() + (hasData == 0 ? "" : " " + text(data, dataLength))));
}

export function handleChildExit(
  _has: i32,
  _at: usize,
  _length: usize,
  child: usize,
  childLength: usize,
  hasData: i32,
  data: usize,
  dataLength: usize,
): usize {
  return state(utf8("exit " + text(child, childLength) + (hasData == 0 ? "" : " " + text(data, dataLength))));
}

export function handleChildExternalStop(_has: i32, _at: usize, _length: usize, child: usize, childLength: usize): usize {
  return state(utf8("stopped " + text(child, childLength)));
}
