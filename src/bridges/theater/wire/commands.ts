// Owns: the protocol's commands, read and printed. Does not own: their answers (responses.ts).
import type { EventQuery } from "../stage.ts";
import { caseOf, Fields } from "./fields.ts";
import { type Printable, WireError, type WireValue } from "./wire-json.ts";

/** One end of a channel: an actor, or a client of the server. */
export type Participant = { readonly actor: string } | "external";

/** `{"Actor": id}` or `"External"`. One client library sends `{"Client": …}` for the latter. */
export function readParticipant(value: WireValue | undefined, subject: string): Participant {
  const [name, content] = caseOf(value, subject);
  if (name === "Actor" && typeof content === "string" && content !== "") return { actor: content };
  if (name === "External" || name === "Client") return "external";
  throw new WireError(`${subject} must be {"Actor": "<id>"} or "External".`);
}

export const printParticipant = (participant: Participant): Printable =>
  participant === "external" ? "External" : { Actor: participant.actor };

/** Commands whose only field is the actor's id. */
const ACTOR_COMMANDS = [
  "StopActor",
  "TerminateActor",
  "SubscribeToActor",
  "GetActorManifest",
  "GetActorStatus",
  "RestartActor",
  "GetActorState",
  "GetActorMetrics",
] as const;
export type ActorCommandName = (typeof ACTOR_COMMANDS)[number];

const isActorCommand = (name: string): name is ActorCommandName => ACTOR_COMMANDS.some((one) => one === name);

/** All commands of Theater's management protocol. An `id` is a UUID, or another name that the server accepts. */
export type Command =
  | {
      readonly type: "StartActor";
      /** A path, `store:…`, or the manifest's text. */
      readonly manifest: string;
      readonly initialState: Uint8Array | null;
      /** Report the actor's end. */
      readonly parent: boolean;
      /** Report the actor's events. */
      readonly subscribe: boolean;
    }
  | { readonly type: ActorCommandName; readonly id: string }
  /** `query`: requests a page. Theater's own servers ignore its fields and send the whole chain. */
  | { readonly type: "GetActorEvents"; readonly id: string; readonly query?: EventQuery }
  | { readonly type: "ListActors" | "NewStore" }
  | { readonly type: "UnsubscribeFromActor"; readonly id: string; readonly subscriptionId: string }
  | { readonly type: "SendActorMessage" | "RequestActorMessage"; readonly id: string; readonly data: Uint8Array }
  | { readonly type: "UpdateActorComponent"; readonly id: string; readonly component: string }
  | { readonly type: "OpenChannel"; readonly with: Participant; readonly initialMessage: Uint8Array }
  | { readonly type: "SendOnChannel"; readonly channelId: string; readonly message: Uint8Array }
  | { readonly type: "CloseChannel"; readonly channelId: string };

/**
 * More lenient than Theater's own server: a variant without fields may be its name, hold null or an empty object; an absent optional
 * field (`parent` and `subscribe` included) is null or false; unknown fields are ignored. Throws `WireError` with the field's name.
 */
export function readCommand(value: WireValue): Command {
  const [type, content] = caseOf(value, "A command");
  const fields = new Fields(type, content);
  if (isActorCommand(type)) return { type, id: fields.id("id") };
  switch (type) {
    case "ListActors":
    case "NewStore":
      return { type };
    case "GetActorEvents":
      return { type, id: fields.id("id"), ...(fields.has("limit") ? { query: readQuery(fields) } : {}) };
    case "StartActor":
      return {
        type,
        manifest: fields.text("manifest"),
        initialState: fields.bytesOrNull("initial_state"),
        parent: fields.flag("parent"),
        subscribe: fields.flag("subscribe"),
      };
    case "UnsubscribeFromActor":
      return { type, id: fields.id("id"), subscriptionId: fields.id("subscription_id") };
    case "SendActorMessage":
    case "RequestActorMessage":
      return { type, id: fields.id("id"), data: fields.bytes("data") };
    case "UpdateActorComponent":
      return { type, id: fields.id("id"), component: fields.text("component") };
    case "OpenChannel":
      return {
        type,
        with: readParticipant(fields.value("actor_id"), "OpenChannel.actor_id"),
        initialMessage: fields.bytesOrNull("initial_message") ?? new Uint8Array(0),
      };
    case "SendOnChannel":
      return { type, channelId: fields.id("channel_id"), message: fields.bytes("message") };
    case "CloseChannel":
      return { type, channelId: fields.id("channel_id") };
    default:
      throw new WireError(`There is no command ${JSON.stringify(type.slice(0, 64))}.`);
  }
}

const readQuery = (fields: Fields): EventQuery => ({
  limit: Math.max(1, fields.count("limit")),
  ...(fields.has("after") ? { after: fields.id("after") } : {}),
  ...(fields.has("before") ? { before: fields.id("before") } : {}),
});

/** In the form that serde expects. */
export function printCommand(command: Command): Printable {
  switch (command.type) {
    case "ListActors":
      return "ListActors";
    case "NewStore":
      return { NewStore: {} };
    case "GetActorEvents":
      return { GetActorEvents: { id: command.id, ...command.query } };
    case "StartActor":
      return {
        StartActor: {
          manifest: command.manifest,
          initial_state: command.initialState,
          parent: command.parent,
          subscribe: command.subscribe,
        },
      };
    case "UnsubscribeFromActor":
      return { UnsubscribeFromActor: { id: command.id, subscription_id: command.subscriptionId } };
    case "SendActorMessage":
    case "RequestActorMessage":
      return { [command.type]: { id: command.id, data: command.data } };
    case "UpdateActorComponent":
      return { UpdateActorComponent: { id: command.id, component: command.component } };
    case "OpenChannel":
      return { OpenChannel: { actor_id: printParticipant(command.with), initial_message: command.initialMessage } };
    case "SendOnChannel":
      return { SendOnChannel: { channel_id: command.channelId, message: command.message } };
    case "CloseChannel":
      return { CloseChannel: { channel_id: command.channelId } };
    default:
      return { [command.type]: { id: command.id } };
  }
}
