import { area, utf8 } from "./abi";
import { messagesRespondToRequest, messagesSendOnChannel } from "./imports";
import { Outcome, unit } from "./outcome";

export function sendOnChannel(channel: string, data: ArrayBuffer): Outcome {
  const to = utf8(channel);
  const back = area(12);
  messagesSendOnChannel(changetype<usize>(to), to.byteLength, changetype<usize>(data), data.byteLength, back);
  return unit(back);
}

export function respond(request: string, data: ArrayBuffer): Outcome {
  const to = utf8(request);
  const back = area(12);
  messagesRespondToRequest(changetype<usize>(to), to.byteLength, changetype<usize>(data), data.byteLength, back);
  return unit(back);
}
