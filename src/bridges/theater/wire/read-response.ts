import type { StageStatus } from "../stage.ts";
import { readEnd, readFailure } from "./actor-end.ts";
import { readEvent } from "./chain-event.ts";
import { readFault } from "./errors.ts";
import { caseOf, Fields, jsonOf } from "./fields.ts";
import { readParticipant } from "./participant.ts";
import { type ListedActor, OF_ACTOR, type Response } from "./responses.ts";
import { WireError } from "./wire-error.ts";
import type { WireValue } from "./wire-json.ts";

type OfActor = (typeof OF_ACTOR)[number];
const isOfActor = (name: string): name is OfActor => OF_ACTOR.some((one) => one === name);

function readStatus(fields: Fields): StageStatus {
  const status = fields.text("status");
  if (status === "Running") return "RUNNING";
  if (status === "Stopped") return "STOPPED";
  if (status === "Failed") return fields.flag("paused") ? "PAUSED" : "FAILED";
  throw new WireError('ActorStatus.status must be "Running", "Stopped" or "Failed".');
}

const isPair = (value: WireValue): value is readonly WireValue[] => Array.isArray(value);

function readListed(value: WireValue): ListedActor {
  if (typeof value === "string") return { id: value };
  const [id, name] = isPair(value) ? value : [];
  if (typeof id !== "string" || typeof name !== "string") throw new WireError("ActorList.actors must hold ids, or pairs of id and name.");
  return { id, name };
}

const idIn = (fields: Fields): { readonly id?: string } => (fields.has("id") ? { id: fields.id("id") } : {});

/** Reads responses of servers of all versions. Throws `WireError` with the name of the invalid field. */
export function readResponse(value: WireValue): Response {
  const [is, content] = caseOf(value, "A response");
  if (is === "ActorResult") return { is, ...readEnd(content) };
  if (is === "Error") return { is, fault: readFault(content, is) };
  const fields = new Fields(is, content);
  if (isOfActor(is)) return { is, id: fields.id("id") };
  switch (is) {
    case "ActorList":
      return { is, actors: fields.list("actors").map(readListed) };
    case "Subscribed":
      return { is, id: fields.id("id"), subscriptionId: fields.id("subscription_id") };
    case "RequestedMessage":
      return { is, id: fields.id("id"), message: fields.bytes("message") };
    case "ActorManifest":
      return {
        is,
        id: fields.id("id"),
        manifest: jsonOf(fields.value("manifest")),
        ...(fields.has("origin") ? { origin: fields.text("origin") } : {}),
      };
    case "ActorStatus":
      return { is, id: fields.id("id"), status: readStatus(fields), ...(fields.has("paused") ? { tellsPauses: true } : {}) };
    case "ActorState":
      return { is, id: fields.id("id"), state: fields.bytesOrNull("state") };
    case "ActorEvents":
      return {
        is,
        id: fields.id("id"),
        events: fields.list("events").map((event) => readEvent(event, "ActorEvents.events")),
        ...(fields.has("more") ? { more: fields.flag("more") } : {}),
      };
    case "ActorMetrics":
      return { is, id: fields.id("id"), metrics: jsonOf(fields.value("metrics")) };
    case "ChannelOpened":
      return { is, channelId: fields.id("channel_id"), with: readParticipant(fields.value("actor_id"), "ChannelOpened.actor_id") };
    case "MessageSent":
    case "ChannelClosed":
      return { is, channelId: fields.id("channel_id") };
    case "StoreCreated":
      return { is, storeId: fields.id("store_id") };
    case "ActorEvent":
      return { is, ...idIn(fields), event: readEvent(fields.value("event"), "ActorEvent.event") };
    case "ActorError":
      return { is, ...idIn(fields), failure: readFailure(fields.value("error"), "ActorError.error", fields.textOrNull("message")) };
    case "ChannelMessage":
      return {
        is,
        channelId: fields.id("channel_id"),
        from: readParticipant(fields.value("sender_id"), "ChannelMessage.sender_id"),
        message: fields.bytes("message"),
      };
    default:
      throw new WireError(`There is no response ${JSON.stringify(is.slice(0, 64))}.`);
  }
}
