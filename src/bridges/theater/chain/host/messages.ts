import { bytes, items, text } from "../values.ts";
import type { Family } from "./told.ts";

const failure = (operation: string, recipient: string | null, message: string | undefined) => ({
  Error: { operation, recipient, message },
});
const FAMILY = "Message";
const BINARY = "binary";

export const MESSAGES: Family = {
  send: ({ args: [to, data], error }) => ({
    family: FAMILY,
    called: { SendMessageCall: { recipient: text(to), message_type: BINARY, data: bytes(data) } },
    gave: { SendMessageResult: { recipient: text(to), success: true } },
    failed: failure("send", text(to), error),
  }),
  request: ({ args: [to, data], ok, error }) => ({
    family: FAMILY,
    called: { RequestMessageCall: { recipient: text(to), message_type: BINARY, data: bytes(data) } },
    gave: { RequestMessageResult: { recipient: text(to), data: bytes(ok), success: true } },
    failed: failure("request", text(to), error),
  }),
  "open-channel": ({ args: [to, data], ok, error }) => ({
    family: FAMILY,
    called: { OpenChannelCall: { recipient: text(to), message_type: BINARY, size: bytes(data).length } },
    gave: { OpenChannelResult: { recipient: text(to), channel_id: text(ok), accepted: true } },
    failed: failure("open-channel", text(to), error),
  }),
  "send-on-channel": ({ args: [channel, data], error }) => ({
    family: FAMILY,
    called: { ChannelMessageCall: { channel_id: text(channel), msg: bytes(data) } },
    gave: { ChannelMessageResult: { channel_id: text(channel), success: true } },
    failed: failure("send-on-channel", text(channel), error),
  }),
  "close-channel": ({ args: [channel], error }) => ({
    family: FAMILY,
    called: { CloseChannelCall: { channel_id: text(channel) } },
    gave: { CloseChannelResult: { channel_id: text(channel), success: true } },
    failed: failure("close-channel", text(channel), error),
  }),
  "list-outstanding-requests": ({ ok }) => ({
    family: FAMILY,
    called: { ListOutstandingRequestsCall: {} },
    gave: { ListOutstandingRequestsResult: { request_count: items(ok).length, request_ids: items(ok).map(text) } },
  }),
  "respond-to-request": ({ args: [request, data], error }) => ({
    family: FAMILY,
    called: { RespondToRequestCall: { request_id: text(request), response_size: bytes(data).length } },
    gave: { RespondToRequestResult: { request_id: text(request), success: true } },
    failed: failure("respond-to-request", text(request), error),
  }),
  "cancel-request": ({ args: [request], error }) => ({
    family: FAMILY,
    called: { CancelRequestCall: { request_id: text(request) } },
    gave: { CancelRequestResult: { request_id: text(request), success: true } },
    failed: failure("cancel-request", text(request), error),
  }),
};
