// Owns: what all guests of a process share, the types of a delivery and a call of an export, and parsing message arguments.
import {
  type ActorId,
  type Behaviour,
  type Engine,
  isJsonObject,
  type Message,
  type Reply,
  StoreError,
  type Turn,
  type Work,
} from "../../../core/contract/index.ts";
import { getOwn, isActorId } from "../../../core/contract/internal.ts";
import type { Beginning, GuestOptions } from "../guest-options.ts";
import { type ChannelEnd, type GuestState, isDigest } from "../guest-state.ts";
import type { CallEffects } from "../host/call-effects.ts";
import type { WitValue } from "../wit.ts";
import type { ExportName } from "../component/world.ts";
import { messageOf } from "../wasm-error.ts";
import type { ChannelPeers } from "./channel-peers.ts";
import type { ProgramCache } from "./program-cache.ts";
import type { InstanceTracker } from "./instance-tracker.ts";

/** The services shared by all guests of a process. */
export interface GuestRuntime {
  readonly options: GuestOptions;
  readonly programs: ProgramCache;
  /** The `host` of channel ends that clients of this process hold. */
  readonly process: string;
  readonly instances: InstanceTracker;
  readonly peers: ChannelPeers;
  /** The attached engine. Throws if there is none. */
  readonly engine: () => Engine;
  /** Other kinds of that engine, as far as known. Their actions may require scopes. */
  readonly kinds: () => readonly Behaviour[];
  /** Resolves once an engine is attached; undefined if one is. */
  readonly attached: () => Promise<void> | undefined;
}

/** A message delivered to a guest's actor. */
export interface Delivery {
  readonly self: ActorId;
  readonly state: GuestState;
  readonly message: Message;
  readonly life: string;
  /** The number of the event that its turn will leave. */
  readonly seq: number;
  readonly uid: string;
}

/** Handles the messages of one action. */
export type Handler = (runtime: GuestRuntime, delivery: Delivery) => Turn<GuestState> | Work<GuestState>;

export interface CallAnswer {
  readonly reply: Reply | "later";
  /** A further change of the actor's state. */
  readonly change?: (state: GuestState) => GuestState;
}

/** A call of an export that a message causes. */
export interface ExportCall {
  readonly export: ExportName;
  readonly params: readonly WitValue[];
  /** The state after the message, regardless of the call's outcome. */
  readonly state: GuestState;
  /** The turn if the component does not export it. */
  readonly ifNotExported: Turn<GuestState>;
  /** The guest starts with this call, and stops if it fails. */
  readonly isStart?: true;
  /** The id of the request that this call handles. */
  readonly request?: string;
  /** The reply after success. Default: null. */
  readonly answer?: (back: WitValue, effects: CallEffects) => CallAnswer;
}

export const refusal = (code: string, message: string): Turn<GuestState> => ({ reply: { refused: { code, message } } });
/** Refuses a message because a part of the program is missing or invalid. */
export const programRefusal = (error: unknown): Turn<GuestState> =>
  refusal(error instanceof StoreError ? error.code : "INVALID", messageOf(error));
export const failedReply = (code: string, message: string): Reply => ({ ok: { failed: { code, message } } });

/** A text argument; undefined if it is missing or not a text. */
export function textArgument({ args }: Message, name: string): string | undefined {
  const value = isJsonObject(args) ? getOwn(args, name) : undefined;
  return typeof value === "string" ? value : undefined;
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/u;

/** An argument in base64; undefined if it is missing or invalid. */
export function bytesArgument(message: Message, name: string): Uint8Array | undefined {
  const text = textArgument(message, name);
  return text === undefined || text.length % 4 !== 0 || !BASE64.test(text) ? undefined : new Uint8Array(Buffer.from(text, "base64"));
}

export function channelEndArgument({ args }: Message): ChannelEnd | undefined {
  const end = isJsonObject(args) ? args["end"] : undefined;
  if (!isJsonObject(end)) return undefined;
  const { actor, host } = end;
  if (isActorId(actor)) return { actor };
  return typeof host === "string" && host !== "" ? { host } : undefined;
}

export function parseBeginning({ start }: Message): Beginning | undefined {
  if (!isJsonObject(start)) return undefined;
  const { manifest, component, name, origin, initialState, resume, generation } = start;
  if (!isDigest(manifest) || !isDigest(component) || typeof name !== "string") return undefined;
  if (initialState !== undefined && !isDigest(initialState)) return undefined;
  return {
    manifest,
    component,
    name,
    ...(typeof origin === "string" ? { origin } : {}),
    ...(initialState === undefined ? {} : { initialState }),
    ...(resume === true ? { resume } : {}),
    ...(typeof generation === "number" ? { generation } : {}),
  };
}

/** Whether the message comes from the process that runs the engine, not from an actor or viewer. */
export const isFromOperator = ({ from, viewer }: Message): boolean => from === undefined && viewer === undefined;
