import { textOf } from "../../../core/platform/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { bytes, text } from "./arguments.ts";
import { encodeBase64 } from "./base64.ts";
import { object, string, SUCCESS } from "./schemas.ts";
import { resolveActorId } from "./subject.ts";
import { defineTool, OPEN_WORLD } from "./tool.ts";
import { withTimeLimit } from "./within.ts";

// Responses are repeated as text for models that cannot read base64. For a long one that would cost more than it helps.
const TEXT_BYTES = 65_536;

const sendMessage = defineTool(
  "send_message",
  {
    title: "Send message",
    description: "Send a message to an actor",
    input: object({ actor_id: string("ID of the actor to send the message to"), data: string("Message data (base64 encoded)") }, [
      "actor_id",
      "data",
    ]),
    output: object({ success: SUCCESS, actor_id: string("ID of the actor") }, ["success", "actor_id"]),
    annotations: OPEN_WORLD,
  },
  async ({ stage, limits }, args) => {
    const data = bytes(args, "data", limits.messageBytes);
    const id = await resolveActorId(stage, text(args, "actor_id"));
    await stage.send(id, data);
    return { success: true, actor_id: id };
  },
);

const requestMessage = defineTool(
  "request_message",
  {
    title: "Request message",
    description: "Send a request to an actor and receive a response",
    input: object({ actor_id: string("ID of the actor to send the request to"), data: string("Request data (base64 encoded)") }, [
      "actor_id",
      "data",
    ]),
    output: object(
      {
        actor_id: string("ID of the actor"),
        response: string("Response data (base64 encoded)"),
        response_text: string("The same, where it is UTF-8 text of at most 64 KiB"),
      },
      ["actor_id", "response"],
    ),
    annotations: OPEN_WORLD,
  },
  async ({ stage, clock, limits }, args, { signal }) => {
    const data = bytes(args, "data", limits.messageBytes);
    const id = await resolveActorId(stage, text(args, "actor_id"));
    const response = await withTimeLimit(`The request to ${id}`, { clock, ms: limits.requestMs, signal }, (abortSignal) => stage.request(id, data, abortSignal));
    const responseText = response.length > 0 && response.length <= TEXT_BYTES ? textOf(response) : undefined;
    return { actor_id: id, response: encodeBase64(response), ...omitUndefined({ response_text: responseText }) };
  },
);

export const messageTools = [sendMessage, requestMessage] as const;
