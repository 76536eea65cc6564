import { bytes, items, text } from "../values.ts";
import type { HostInterface } from "./told.ts";

const messageFailure = (operation: string, recipient: string | null, message: string | undefined) => ({
  Error: { operation, recipient, message },
});
const MESSAGE_FAMILY = "Message";
const BINARY = "binary";

export const MESSAGES: HostInterface = {
  send: ({ args: [to, data], error }) => ({
    family: MESSAGE_FAMILY,
    called: { SendMessageCall: { recipient: text(to), message_type: BINARY, data: bytes(data) } },
    returned: { SendMessageResult: { recipient: text(to), success: true } },
    failed: messageFailure("send", text(to), error),
  }),
  request: ({ args: [to, data], ok, error }) => ({
    family: MESSAGE_FAMILY,
    called: { RequestMessageCall: { recipient: text(to), message_type: BINARY, data: bytes(data) } },
    returned: { RequestMessageResult: { recipient: text(to), data: bytes(ok), success: true } },
    failed: messageFailure("request", text(to), error),
  }),
  "open-channel": ({ args: [to, data], ok, error }) => ({
    family: MESSAGE_FAMILY,
    called: { OpenChannelCall: { recipient: text(to), message_type: BINARY, size: bytes(data).length } },
    returned: { OpenChannelResult: { recipient: text(to), channel_id: text(ok), accepted: true } },
    failed: messageFailure("open-channel", text(to), error),
  }),
  "send-on-channel": ({ args: [channel, data], error }) => ({
    family: MESSAGE_FAMILY,
    called: { ChannelMessageCall: { channel_id: text(channel), msg: bytes(data) } },
    returned: { ChannelMessageResult: { channel_id: text(channel), success: true } },
    failed: messageFailure("send-on-channel", text(channel), error),
  }),
  "close-channel": ({ args: [channel], error }) => ({
    family: MESSAGE_FAMILY,
    called: { CloseChannelCall: { channel_id: text(channel) } },
    returned: { CloseChannelResult: { channel_id: text(channel), success: true } },
    failed: messageFailure("close-channel", text(channel), error),
  }),
  "list-outstanding-requests": ({ ok }) => ({
    family: MESSAGE_FAMILY,
    called: { ListOutstandingRequestsCall: {} },
    returned: { ListOutstandingRequestsResult: { request_count: items(ok).length, request_ids: items(ok).map(text) } },
  }),
  "respond-to-request": ({ args: [request, data], error }) => ({
    family: MESSAGE_FAMILY,
    called: { RespondToRequestCall: { request_id: text(request), response_size: bytes(data).length } },
    returned: { RespondToRequestResult: { request_id: text(request), success: true } },
    failed: messageFailure("respond-to-request", text(request), error),
  }),
  "cancel-request": ({ args: [request], error }) => ({
    family: MESSAGE_FAMILY,
    called: { CancelRequestCall: { request_id: text(request) } },
    returned: { CancelRequestResult: { request_id: text(request), success: true } },
    failed: messageFailure("cancel-request", text(request), error),
  }),
};
