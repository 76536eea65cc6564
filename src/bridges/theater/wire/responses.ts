import type { Json } from "../../../core/contract/index.ts";
import type { StageStatus } from "../stage.ts";
import type { ActorEnd, TheaterEvent } from "../theater-stage.ts";
import type { ActorFailure } from "./actor-end.ts";
import type { Fault } from "./errors.ts";
import type { Participant } from "./participant.ts";
import type { Printable } from "./print-json.ts";

/** Answers that hold only the actor's id. */
export const ACTOR_ANSWERS = ["ActorStarted", "ActorStopped", "Unsubscribed", "SentMessage", "Restarted", "ActorComponentUpdated"] as const;

export interface ListedActor {
  readonly id: string;
  /** Absent from servers before 26 April 2025. */
  readonly name?: string;
}

/** The answer to a command. */
export type Answer =
  | { readonly is: (typeof ACTOR_ANSWERS)[number]; readonly id: string }
  | { readonly is: "ActorList"; readonly actors: readonly ListedActor[] }
  | { readonly is: "Subscribed"; readonly id: string; readonly subscriptionId: string }
  | { readonly is: "RequestedMessage"; readonly id: string; readonly message: Uint8Array }
  /** `origin`: what the actor was started from. Only our servers send it. */
  | { readonly is: "ActorManifest"; readonly id: string; readonly manifest: Printable; readonly origin?: string }
  /** `reportsPauses`: the server has a status for paused actors. Theater's own servers report them as running. */
  | { readonly is: "ActorStatus"; readonly id: string; readonly status: StageStatus; readonly reportsPauses?: true }
  | { readonly is: "ActorState"; readonly id: string; readonly state: Uint8Array | null }
  /** `more`: there are events beyond this page. Absent: this is the whole chain. */
  | { readonly is: "ActorEvents"; readonly id: string; readonly events: readonly TheaterEvent[]; readonly more?: boolean }
  | { readonly is: "ActorMetrics"; readonly id: string; readonly metrics: Json }
  | { readonly is: "ChannelOpened"; readonly channelId: string; readonly with: Participant }
  | { readonly is: "MessageSent"; readonly channelId: string }
  /** Answers a command, or is pushed when the other end closes the channel. */
  | { readonly is: "ChannelClosed"; readonly channelId: string }
  | { readonly is: "StoreCreated"; readonly storeId: string }
  | { readonly is: "Error"; readonly fault: Fault };

/** Sent by the server between answers. `id` is absent from servers since 19 May 2025. */
export type Push =
  | { readonly is: "ActorEvent"; readonly id?: string; readonly event: TheaterEvent }
  | { readonly is: "ActorError"; readonly id?: string; readonly failure: ActorFailure }
  | { readonly is: "ActorResult"; readonly id: string; readonly end: ActorEnd }
  | { readonly is: "ChannelMessage"; readonly channelId: string; readonly from: Participant; readonly message: Uint8Array }
  | { readonly is: "ChannelClosed"; readonly channelId: string };

export type Response = Answer | Push;
