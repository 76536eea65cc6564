import { printEnd, printFailure } from "./actor-end.ts";
import { printEvent } from "./chain-event.ts";
import type { Codec } from "./codec.ts";
import { printFault } from "./errors.ts";
import { printParticipant } from "./participant.ts";
import type { Printable } from "./print-json.ts";
import type { Response } from "./responses.ts";

const WIRE_STATUS = { RUNNING: "Running", STOPPED: "Stopped", FAILED: "Failed", PAUSED: "Failed" } as const;

/**
 * A response in the form that clients of the codec's time expect. Only a list of actors differs: ids for `raw`, pairs of id and name
 * for `fragmenting`. Pushes of events and errors name the actor for both; newer clients ignore that. Theater has no status for a
 * paused actor: it is `Failed` with an additional `paused`.
 */
export function printResponse(response: Response, codec: Codec): Printable {
  return { [response.is]: printContent(response, codec) };
}

function printContent(response: Response, codec: Codec): Printable {
  switch (response.is) {
    case "ActorList":
      return { actors: response.actors.map(({ id, name }) => (codec === "raw" ? id : [id, name ?? ""])) };
    case "Subscribed":
      return { id: response.id, subscription_id: response.subscriptionId };
    case "RequestedMessage":
      return { id: response.id, message: response.message };
    case "ActorManifest":
      return { id: response.id, manifest: response.manifest, ...(response.origin === undefined ? {} : { origin: response.origin }) };
    case "ActorStatus":
      return { id: response.id, status: WIRE_STATUS[response.status], paused: response.status === "PAUSED" };
    case "ActorState":
      return { id: response.id, state: response.state };
    case "ActorEvents":
      return { id: response.id, events: response.events.map(printEvent), ...(response.more === undefined ? {} : { more: response.more }) };
    case "ActorMetrics":
      return { id: response.id, metrics: response.metrics };
    case "ChannelOpened":
      return { channel_id: response.channelId, actor_id: printParticipant(response.with) };
    case "MessageSent":
    case "ChannelClosed":
      return { channel_id: response.channelId };
    case "StoreCreated":
      return { store_id: response.storeId };
    case "Error":
      return printFault(response.fault);
    case "ActorEvent":
      return { id: response.id, event: printEvent(response.event) };
    case "ActorError":
      return { id: response.id, error: printFailure(response.failure), message: response.failure.message };
    case "ActorResult":
      return printEnd(response.id, response.end);
    case "ChannelMessage":
      return { channel_id: response.channelId, sender_id: printParticipant(response.from), message: response.message };
    default:
      return { id: response.id };
  }
}
