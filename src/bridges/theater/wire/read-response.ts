import type { StageStatus } from "../stage.ts";
import { readEnd, readFailure } from "./actor-end.ts";
import { readEvent } from "./chain-event.ts";
import { readFault } from "./errors.ts";
import { caseOf, Fields, toJson } from "./fields.ts";
import { readParticipant } from "./participant.ts";
import { type ListedActor, ACTOR_ANSWERS, type Response } from "./responses.ts";
import { WireError } from "./wire-error.ts";
import type { WireValue } from "./wire-json.ts";

type ActorAnswerName = (typeof ACTOR_ANSWERS)[number];
const isActorAnswer = (name: string): name is ActorAnswerName => ACTOR_ANSWERS.some((one) => one === name);

function readStatus(fields: Fields): StageStatus {
  const status = fields.text("status");
  if (status === "Running") return "RUNNING";
  if (status === "Stopped") return "STOPPED";
  if (status === "Failed") return fields.flag("paused") ? "PAUSED" : "FAILED";
  throw new WireError('ActorStatus.status must be "Running", "Stopped" or "Failed".');
}

const isPair = (value: WireValue): value is readonly WireValue[] => Array.isArray(value);

function readListedActor(value: WireValue): ListedActor {
  if (typeof value === "string") return { id: value };
  const [id, name] = isPair(value) ? value : [];
  if (typeof id !== "string" || typeof name !== "string") throw new WireError("ActorList.actors must hold ids, or pairs of id and name.");
  return { id, name };
}

const optionalId = (fields: Fields): { readonly id?: string } => (fields.has("id") ? { id: fields.id("id") } : {});

/** Reads responses of servers of all versions. Throws `WireError` with the name of the invalid field. */
export function readResponse(value: WireValue): Response {
  const [is, content] = caseOf(value, "A response");
  if (is === "ActorResult") return { is, ...readEnd(content) };
  if (is === "Error") return { is, fault: readFault(content, is) };
  const fields = new Fields(is, content);
  if (isActorAnswer(is)) return { is, id: fields.id("id") };
  switch (is) {
    case "ActorList":
      return { is, actors: fields.list("actors").map(readListedActor) };
    case "Subscribed":
      return { is, id: fields.id("id"), subscriptionId: fields.id("subscription_id") };
    case "RequestedMessage":
      return { is, id: fields.id("id"), message: fields.bytes("message") };
    case "ActorManifest":
      return {
        is,
        id: fields.id("id"),
        manifest: toJson(fields.value("manifest")),
        ...(fields.has("origin") ? { origin: fields.text("origin") } : {}),
      };
    case "ActorStatus":
      return { is, id: fields.id("id"), status: readStatus(fields), ...(fields.has("paused") ? { reportsPauses: true } : {}) };
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
      return { is, id: fields.id("id"), metrics: toJson(fields.value("metrics")) };
    case "ChannelOpened":
      return { is, channelId: fields.id("channel_id"), with: readParticipant(fields.value("actor_id"), "ChannelOpened.actor_id") };
    case "MessageSent":
    case "ChannelClosed":
      return { is, channelId: fields.id("channel_id") };
    case "StoreCreated":
      return { is, storeId: fields.id("store_id") };
    case "ActorEvent":
      return { is, ...optionalId(fields), event: readEvent(fields.value("event"), "ActorEvent.event") };
    case "ActorError":
      return { is, ...optionalId(fields), failure: readFailure(fields.value("error"), "ActorError.error", fields.textOrNull("message")) };
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
