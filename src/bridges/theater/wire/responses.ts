// Owns: the protocol's answers, pushes and errors, read and printed. Does not own: the commands (commands.ts).
import { isList, type Json } from "../../../core/contract/index.ts";
import type { ActorEnd, StageCode, StageStatus, TheaterEvent } from "../stage.ts";
import type { Codec } from "./codec.ts";
import { type Participant, printParticipant, readParticipant } from "./commands.ts";
import { type ActorFailure, printEnd, printEvent, printFailure, readEnd, readEvent, readFailure } from "./events.ts";
import { caseOf, Fields, toJson } from "./fields.ts";
import { type Printable, WireError, type WireValue } from "./wire-json.ts";

/** An error as the protocol has it. */
export interface Fault {
  readonly code: StageCode;
  readonly message: string;
}

/** Whether the protocol's error variant holds a message. */
const HAS_MESSAGE: Readonly<Record<StageCode, boolean>> = {
  ActorNotFound: false,
  ActorAlreadyExists: false,
  ActorNotRunning: false,
  ActorError: true,
  ActorInitializationError: true,
  ChannelNotFound: false,
  ChannelClosed: false,
  ChannelRejected: false,
  StoreError: true,
  CommunicationError: true,
  InvalidRequest: true,
  Timeout: false,
  RuntimeError: true,
  InternalError: true,
  SerializationError: true,
};

const isCode = (name: string): name is StageCode => Object.hasOwn(HAS_MESSAGE, name);

/** Messages of servers of April 2025 for errors that have had a code since. */
const OLD_MESSAGES: readonly (readonly [RegExp, StageCode])[] = [
  [/channel[^.]*reject/i, "ChannelRejected"],
  [/channel[^.]*not found/i, "ChannelNotFound"],
  [/actor[^.]*not found/i, "ActorNotFound"],
  [/not running|paused/i, "ActorNotRunning"],
];

/**
 * One shape for clients of all versions, since they ignore unknown fields: `error` for those since May 2025, `message` for older ones.
 * Clients of June 2025 do not know `ActorInitializationError`, so it is sent as `RuntimeError` with an additional `code`.
 */
function printFault({ code, message }: Fault): Printable {
  const sentCode = code === "ActorInitializationError" ? "RuntimeError" : code;
  return { error: HAS_MESSAGE[sentCode] ? { [sentCode]: message } : sentCode, message, code: sentCode === code ? undefined : code };
}

/** Reads an error of any server. Unknown errors become `RuntimeError`. */
function readFault(value: WireValue | undefined, of: string): Fault {
  const fields = new Fields(of, value);
  const sentMessage = fields.textOrNull("message");
  if (!fields.has("error")) {
    const code = OLD_MESSAGES.find(([pattern]) => pattern.test(sentMessage ?? ""))?.[1] ?? "RuntimeError";
    return { code, message: sentMessage ?? "The server did not say why." };
  }
  const [variant, content] = caseOf(fields.value("error"), `${of}.error`);
  const code = fields.textOrNull("code") ?? variant;
  const message = typeof content === "string" ? content : (sentMessage ?? `The server says ${variant}.`);
  return { code: isCode(code) ? code : "RuntimeError", message };
}

/** Answers that hold only the actor's id. */
const ACTOR_ANSWERS = ["ActorStarted", "ActorStopped", "Unsubscribed", "SentMessage", "Restarted", "ActorComponentUpdated"] as const;

interface ListedActor {
  readonly id: string;
  /** Absent from servers before 26 April 2025. */
  readonly name?: string;
}

/** The answer to a command. */
export type Answer =
  | { readonly type: (typeof ACTOR_ANSWERS)[number]; readonly id: string }
  | { readonly type: "ActorList"; readonly actors: readonly ListedActor[] }
  | { readonly type: "Subscribed"; readonly id: string; readonly subscriptionId: string }
  | { readonly type: "RequestedMessage"; readonly id: string; readonly message: Uint8Array }
  /** `origin`: what the actor was started from. Only our servers send it. */
  | { readonly type: "ActorManifest"; readonly id: string; readonly manifest: Printable; readonly origin?: string }
  /** `reportsPauses`: the server has a status for paused actors. Theater's own servers report them as running. */
  | { readonly type: "ActorStatus"; readonly id: string; readonly status: StageStatus; readonly reportsPauses?: true }
  | { readonly type: "ActorState"; readonly id: string; readonly state: Uint8Array | null }
  /** `more`: there are events beyond this page. Absent: this is the whole chain. */
  | { readonly type: "ActorEvents"; readonly id: string; readonly events: readonly TheaterEvent[]; readonly more?: boolean }
  | { readonly type: "ActorMetrics"; readonly id: string; readonly metrics: Json }
  | { readonly type: "ChannelOpened"; readonly channelId: string; readonly with: Participant }
  | { readonly type: "MessageSent"; readonly channelId: string }
  /** Answers a command, or is pushed when the other end closes the channel. */
  | { readonly type: "ChannelClosed"; readonly channelId: string }
  | { readonly type: "StoreCreated"; readonly storeId: string }
  | { readonly type: "Error"; readonly fault: Fault };

/** Sent by the server between answers. `id` is absent from servers since 19 May 2025. */
export type Push =
  | { readonly type: "ActorEvent"; readonly id?: string; readonly event: TheaterEvent }
  | { readonly type: "ActorError"; readonly id?: string; readonly failure: ActorFailure }
  | { readonly type: "ActorResult"; readonly id: string; readonly end: ActorEnd }
  | { readonly type: "ChannelMessage"; readonly channelId: string; readonly from: Participant; readonly message: Uint8Array }
  | { readonly type: "ChannelClosed"; readonly channelId: string };

export type Response = Answer | Push;

const WIRE_STATUS = { RUNNING: "Running", STOPPED: "Stopped", FAILED: "Failed", PAUSED: "Failed" } as const;

/**
 * A response in the form that clients of the codec's time expect. Only a list of actors differs: ids for `raw`, pairs of id and name
 * for `fragmenting`. Pushes of events and errors name the actor for both; newer clients ignore that. Theater has no status for a
 * paused actor: it is `Failed` with an additional `paused`.
 */
export function printResponse(response: Response, codec: Codec): Printable {
  return { [response.type]: printContent(response, codec) };
}

function printContent(response: Response, codec: Codec): Printable {
  switch (response.type) {
    case "ActorList":
      return { actors: response.actors.map(({ id, name }) => (codec === "raw" ? id : [id, name ?? ""])) };
    case "Subscribed":
      return { id: response.id, subscription_id: response.subscriptionId };
    case "RequestedMessage":
      return { id: response.id, message: response.message };
    case "ActorManifest":
      return { id: response.id, manifest: response.manifest, origin: response.origin };
    case "ActorStatus":
      return { id: response.id, status: WIRE_STATUS[response.status], paused: response.status === "PAUSED" };
    case "ActorState":
      return { id: response.id, state: response.state };
    case "ActorEvents":
      return { id: response.id, events: response.events.map(printEvent), more: response.more };
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

type ActorAnswerName = (typeof ACTOR_ANSWERS)[number];
const isActorAnswer = (name: string): name is ActorAnswerName => ACTOR_ANSWERS.some((one) => one === name);

function readStatus(fields: Fields): StageStatus {
  const status = fields.text("status");
  if (status === "Running") return "RUNNING";
  if (status === "Stopped") return "STOPPED";
  if (status === "Failed") return fields.flag("paused") ? "PAUSED" : "FAILED";
  throw new WireError('ActorStatus.status must be "Running", "Stopped" or "Failed".');
}

function readListedActor(value: WireValue): ListedActor {
  if (typeof value === "string") return { id: value };
  const [id, name] = isList(value) ? value : [];
  if (typeof id !== "string" || typeof name !== "string") throw new WireError("ActorList.actors must hold ids, or pairs of id and name.");
  return { id, name };
}

const optionalId = (fields: Fields): { readonly id?: string } => (fields.has("id") ? { id: fields.id("id") } : {});

/** Reads responses of servers of all versions. Throws `WireError` with the name of the invalid field. */
export function readResponse(value: WireValue): Response {
  const [type, content] = caseOf(value, "A response");
  if (type === "ActorResult") return { type, ...readEnd(content) };
  if (type === "Error") return { type, fault: readFault(content, type) };
  const fields = new Fields(type, content);
  if (isActorAnswer(type)) return { type, id: fields.id("id") };
  switch (type) {
    case "ActorList":
      return { type, actors: fields.list("actors").map(readListedActor) };
    case "Subscribed":
      return { type, id: fields.id("id"), subscriptionId: fields.id("subscription_id") };
    case "RequestedMessage":
      return { type, id: fields.id("id"), message: fields.bytes("message") };
    case "ActorManifest":
      return {
        type,
        id: fields.id("id"),
        manifest: toJson(fields.value("manifest")),
        ...(fields.has("origin") ? { origin: fields.text("origin") } : {}),
      };
    case "ActorStatus":
      return { type, id: fields.id("id"), status: readStatus(fields), ...(fields.has("paused") ? { reportsPauses: true } : {}) };
    case "ActorState":
      return { type, id: fields.id("id"), state: fields.bytesOrNull("state") };
    case "ActorEvents":
      return {
        type,
        id: fields.id("id"),
        events: fields.list("events").map((event) => readEvent(event, "ActorEvents.events")),
        ...(fields.has("more") ? { more: fields.flag("more") } : {}),
      };
    case "ActorMetrics":
      return { type, id: fields.id("id"), metrics: toJson(fields.value("metrics")) };
    case "ChannelOpened":
      return { type, channelId: fields.id("channel_id"), with: readParticipant(fields.value("actor_id"), "ChannelOpened.actor_id") };
    case "MessageSent":
    case "ChannelClosed":
      return { type, channelId: fields.id("channel_id") };
    case "StoreCreated":
      return { type, storeId: fields.id("store_id") };
    case "ActorEvent":
      return { type, ...optionalId(fields), event: readEvent(fields.value("event"), "ActorEvent.event") };
    case "ActorError":
      return { type, ...optionalId(fields), failure: readFailure(fields.value("error"), "ActorError.error", fields.textOrNull("message")) };
    case "ChannelMessage":
      return {
        type,
        channelId: fields.id("channel_id"),
        from: readParticipant(fields.value("sender_id"), "ChannelMessage.sender_id"),
        message: fields.bytes("message"),
      };
    default:
      throw new WireError(`There is no response ${JSON.stringify(type.slice(0, 64))}.`);
  }
}
