// Answers a request later: its id becomes a line of the state, and the next send is the answer to the oldest.
import { answer, bytes, channel, decoded, failed, optional, state, text, utf8 } from "../../../../examples/wasm/lib/abi";
import { respond } from "../../../../examples/wasm/lib/messages";
export { cabi_realloc, post } from "../../../../examples/wasm/lib/abi";

export function init(has: i32, at: usize, length: usize, _id: usize, _idLength: usize): usize {
  return state(optional(has, at, length));
}

export function handleSend(has: i32, at: usize, length: usize, data: usize, dataLength: usize): usize {
  const waiting = optional(has, at, length);
  if (waiting === null) return failed("Nobody waits for an answer.");
  const ids = decoded(waiting).split("\n");
  const oldest = ids.shift();
  const sent = respond(oldest, bytes(data, dataLength));
  if (!sent.ok) return failed(sent.error);
  return state(ids.length == 0 ? null : utf8(ids.join("\n")));
}

export function handleRequest(has: i32, at: usize, length: usize, id: usize, idLength: usize, _data: usize, _dataLength: usize): usize {
  const waiting = optional(has, at, length);
  const more = text(id, idLength);
  return answer(utf8(waiting === null ? more : decoded(waiting) + "\n" + more), null);
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
