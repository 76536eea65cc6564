import {
  type ActorId,
  type Behaviour,
  type Engine,
  isJsonObject,
  type Json,
  type Message,
  type Reply,
  StoreError,
  type Turn,
} from "../../../core/contract/index.ts";
import type { Beginning, GuestOptions } from "../guest-options.ts";
import type { ChannelEnd, GuestState } from "../guest-state.ts";
import type { CallEffects } from "../host/call-effects.ts";
import type { WitValue } from "../wit.ts";
import type { ExportName } from "../component/world.ts";
import type { ChannelPeers } from "./channel-peers.ts";
import type { ProgramCache } from "./program-cache.ts";
import type { InstanceTracker } from "./instance-tracker.ts";

/** What all guests of a process share. */
export interface GuestRuntime {
  readonly options: GuestOptions;
  readonly programs: ProgramCache;
  /** The `host` of channel ends held here. */
  readonly process: string;
  readonly instances: InstanceTracker;
  readonly peers: ChannelPeers;
  /** Throws while none is attached. */
  readonly engine: () => Engine;
  /** What else that engine runs, as far as it is known: what a guest asks of it may require scopes. */
  readonly kinds: () => readonly Behaviour[];
  /** Settles once one is. Undefined: one is. */
  readonly attached: () => Promise<void> | undefined;
}

/** A message that has come to a guest's actor. */
export interface Delivery {
  readonly self: ActorId;
  readonly state: GuestState;
  readonly message: Message;
  readonly life: string;
  /** Of the event its turn leaves. */
  readonly seq: number;
  readonly uid: string;
}

/** A message that makes its guest run: which export is called with what, and what comes of it. */

export interface CallAnswer {
  readonly reply: Reply | "later";
  /** Whatever else of the actor's state the answer changes. */
  readonly change?: (state: GuestState) => GuestState;
}

export interface ExportCall {
  readonly export: ExportName;
  readonly params: readonly WitValue[];
  /** The state as the message alone leaves it, whatever becomes of the call. */
  readonly state: GuestState;
  /** Where the guest has no such export. */
  readonly ifNotExported: Turn<GuestState>;
  /** It begins with this call: where that fails, it ends. */
  readonly isStart?: true;
  /** A request may be answered by its own id. */
  readonly request?: string;
  readonly answer: (back: WitValue, gathered: CallEffects) => CallAnswer;
}

export const refusal = (code: string, message: string): Turn<GuestState> => ({ reply: { refused: { code, message } } });
/** What it is made of is not there, or wrong. */
export const programRefusal = (error: unknown): Turn<GuestState> =>
  refusal(error instanceof StoreError ? error.code : "INVALID", error instanceof Error ? error.message : String(error));
export const failedReply = (code: string, message: string): Reply => ({ ok: { failed: { code, message } } });
export const NULL_REPLY: CallAnswer = { reply: { ok: null } };

/** Of a message's arguments: undefined where they are no text, or not there. */
export function textArgument({ args }: Message, name: string): string | undefined {
  const value = isJsonObject(args) && Object.hasOwn(args, name) ? args[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/u;

/** Undefined: there are none, or they are no base64. */
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

const isActorId = (value: unknown): value is ActorId => typeof value === "string" && /^[a-z][a-z0-9-]{0,63}\/.+$/u.test(value);

const isDigest = (value: Json | undefined): value is string => typeof value === "string" && /^[0-9a-f]{64}$/u.test(value);

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

/** Neither an actor's nor a viewer's: of whoever runs this engine. */
export const isFromOperator = ({ from, viewer }: Message): boolean => from === undefined && viewer === undefined;
