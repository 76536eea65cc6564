// State: {"count": n} as JSON. Sending "add" adds one, sending a number adds that number, and a request replies with the count.
import { answer, channel, decoded, failed, optional, state, text, utf8 } from "./lib/abi";
import { log } from "./lib/runtime";
export { cabi_realloc, post } from "./lib/abi";

const KEY = '"count":';

function count(from: ArrayBuffer | null): i64 {
  if (from === null) return 0;
  const json = decoded(from);
  const at = json.indexOf(KEY);
  return at < 0 ? 0 : I64.parseInt(json.slice(at + KEY.length));
}

function serialized(n: i64): ArrayBuffer {
  return utf8("{" + KEY + n.toString() + "}");
}

/** At most 15 characters: digits, optionally after a minus. */
function isNumber(text: string): bool {
  const from = text.startsWith("-") ? 1 : 0;
  if (text.length == from || text.length > 15) return false;
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}

export function init(has: i32, at: usize, length: usize, _id: usize, _idLength: usize): usize {
  log("counter begins");
  return state(serialized(count(optional(has, at, length))));
}

export function handleSend(has: i32, at: usize, length: usize, data: usize, dataLength: usize): usize {
  const message = text(data, dataLength).trim();
  const more: i64 = message == "add" ? 1 : isNumber(message) ? I64.parseInt(message) : 0;
  if (message != "add" && !isNumber(message)) return failed('A counter takes "add" or a whole number of at most 15 characters.');
  const next = count(optional(has, at, length)) + more;
  log("count is " + next.toString());
  return state(serialized(next));
}

export function handleRequest(has: i32, at: usize, length: usize, _id: usize, _idLength: usize, _data: usize, _dataLength: usize): usize {
  const before = optional(has, at, length);
  return answer(before, utf8(count(before).toString()));
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
  return channel(optional(has, at, length), false, utf8("A counter has no channels."));
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
