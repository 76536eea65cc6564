// Calls imports by command. A message is `<interface>.<function> <argument> … <the rest>`, several divided by a line of "&&", and
// besides: `set <state>`, `get`, `fail <message>`, `trap`, `spin`. A request answers what they answered (lib/replies.ts); a send keeps it as
// the state; a channel's opening answers it, a channel's message answers it on the channel. Its first state, where it begins
// with "do ", is a message too.
import { answer, channel, decoded, failed, optional, state, text, utf8 } from "../../../../examples/wasm/lib/abi";
import { sendOnChannel } from "../../../../examples/wasm/lib/messages";
import { timing } from "../lib/clock";
import { messages } from "../lib/messages";
import { random } from "../lib/random";
import { runtime } from "../lib/runtime";
import { Done, run } from "../lib/script";
import { store as storing } from "../lib/store";
import { supervisor } from "../lib/supervisor";
import { Words } from "../lib/words";
export { cabi_realloc, post } from "../../../../examples/wasm/lib/abi";

function ask(command: string, words: Words): string {
  const dot = command.indexOf(".");
  const at = command.slice(0, dot);
  const name = command.slice(dot + 1);
  if (at == "runtime") return runtime(name, words);
  if (at == "message-server-host") return messages(name, words);
  if (at == "supervisor") return supervisor(name, words);
  if (at == "store") return storing(name, words);
  if (at == "timing") return timing(name, words);
  if (at == "random") return random(name, words);
  return "";
}

function done(before: ArrayBuffer | null, data: usize, dataLength: usize): Done {
  return run(text(data, dataLength), before, ask);
}

export function init(has: i32, at: usize, length: usize, _id: usize, _idLength: usize): usize {
  const first = optional(has, at, length);
  if (first === null || !decoded(first).startsWith("do ")) return state(first);
  const did = done(null, at + 3, length - 3);
  return did.failed.length > 0 ? failed(did.failed) : state(did.next === null ? utf8(did.said) : did.next);
}

export function handleSend(has: i32, at: usize, length: usize, data: usize, dataLength: usize): usize {
  const did = done(optional(has, at, length), data, dataLength);
  return did.failed.length > 0 ? failed(did.failed) : state(utf8(did.said));
}

export function handleRequest(has: i32, at: usize, length: usize, _id: usize, _idLength: usize, data: usize, dataLength: usize): usize {
  const did = done(optional(has, at, length), data, dataLength);
  return did.failed.length > 0 ? failed(did.failed) : answer(did.next, utf8(did.said));
}

export function handleChannelOpen(has: i32, at: usize, length: usize, _id: usize, _idLength: usize, data: usize, dataLength: usize): usize {
  const before = optional(has, at, length);
  if (dataLength == 0) return channel(before, true, null);
  const did = done(before, data, dataLength);
  return did.failed.length > 0 ? channel(before, false, utf8(did.failed)) : channel(did.next, true, utf8(did.said));
}

export function handleChannelMessage(
  has: i32,
  at: usize,
  length: usize,
  id: usize,
  idLength: usize,
  data: usize,
  dataLength: usize,
): usize {
  const did = done(optional(has, at, length), data, dataLength);
  if (did.failed.length > 0) return failed(did.failed);
  sendOnChannel(text(id, idLength), utf8(did.said));
  return state(did.next);
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
