import { area } from "../../../../examples/wasm/lib/abi";
import {
  messagesSend,
  messagesRequest,
  messagesOpenChannel,
  messagesSendOnChannel,
  messagesCloseChannel,
  messagesListOutstandingRequests,
  messagesRespondToRequest,
  messagesCancelRequest,
} from "../../../../examples/wasm/lib/imports";
import { listed, strings, unit } from "./replies";
import { at, encodedLast, encodedNext, Words } from "./words";

/** Empty where there is no such function. */
export function messages(name: string, words: Words): string {
  const back = area(64);
  if (name == "send") {
    const a = encodedNext(words);
    const b = encodedLast(words);
    messagesSend(at(a), a.byteLength, at(b), b.byteLength, back);
    return unit(back);
  }
  if (name == "request") {
    const a = encodedNext(words);
    const b = encodedLast(words);
    messagesRequest(at(a), a.byteLength, at(b), b.byteLength, back);
    return listed(back);
  }
  if (name == "open-channel") {
    const a = encodedNext(words);
    const b = encodedLast(words);
    messagesOpenChannel(at(a), a.byteLength, at(b), b.byteLength, back);
    return listed(back);
  }
  if (name == "send-on-channel") {
    const a = encodedNext(words);
    const b = encodedLast(words);
    messagesSendOnChannel(at(a), a.byteLength, at(b), b.byteLength, back);
    return unit(back);
  }
  if (name == "close-channel") {
    const a = encodedLast(words);
    messagesCloseChannel(at(a), a.byteLength, back);
    return unit(back);
  }
  if (name == "list-outstanding-requests") {
    messagesListOutstandingRequests(back);
    return strings(back);
  }
  if (name == "respond-to-request") {
    const a = encodedNext(words);
    const b = encodedLast(words);
    messagesRespondToRequest(at(a), a.byteLength, at(b), b.byteLength, back);
    return unit(back);
  }
  if (name == "cancel-request") {
    const a = encodedLast(words);
    messagesCancelRequest(at(a), a.byteLength, back);
    return unit(back);
  }
  return "";
}
