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
import type { Gathered } from "../host/call-effects.ts";
import type { WitValue } from "../wit.ts";
import type { ExportName } from "../component/world.ts";
import type { Company } from "./channel-peers.ts";
import type { Library } from "./program-cache.ts";
import type { Ran } from "./instance-tracker.ts";

/** What all guests of a process share. */
export interface Room {
  readonly options: GuestOptions;
  readonly library: Library;
  /** The `host` of channel ends held here. */
  readonly process: string;
  readonly ran: Ran;
  readonly company: Company;
  /** Throws while none is attached. */
  readonly engine: () => Engine;
  /** What else that engine runs, as far as it is known: what a guest asks of it may require scopes. */
  readonly kinds: () => readonly Behaviour[];
  /** Settles once one is. Undefined: one is. */
  readonly attached: () => Promise<void> | undefined;
}

/** A message that has come to a guest's actor. */
export interface Entered {
  readonly self: ActorId;
  readonly state: GuestState;
  readonly message: Message;
  readonly life: string;
  /** Of the event its turn leaves. */
  readonly seq: number;
  readonly uid: string;
}

/** A message that makes its guest run: which export is called with what, and what comes of it. */

export interface Answer {
  readonly reply: Reply | "later";
  /** Whatever else of the actor's state the answer changes. */
  readonly change?: (state: GuestState) => GuestState;
}

export interface Visit {
  readonly export: ExportName;
  readonly params: readonly WitValue[];
  /** The state as the message alone leaves it, whatever becomes of the call. */
  readonly state: GuestState;
  /** Where the guest has no such export. */
  readonly absent: Turn<GuestState>;
  /** It begins with this call: where that fails, it ends. */
  readonly begins?: true;
  /** A request may be answered by its own id. */
  readonly request?: string;
  readonly answer: (back: WitValue, gathered: Gathered) => Answer;
}

export const refused = (code: string, message: string): Turn<GuestState> => ({ reply: { refused: { code, message } } });
/** What it is made of is not there, or wrong. */
export const unfounded = (error: unknown): Turn<GuestState> =>
  refused(error instanceof StoreError ? error.code : "INVALID", error instanceof Error ? error.message : String(error));
export const failedReply = (code: string, message: string): Reply => ({ ok: { failed: { code, message } } });
export const NULL: Answer = { reply: { ok: null } };

/** Of a message's arguments: undefined where they are no text, or not there. */
export function textIn({ args }: Message, name: string): string | undefined {
  const value = isJsonObject(args) && Object.hasOwn(args, name) ? args[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/u;

/** Undefined: there are none, or they are no base64. */
export function bytesIn(message: Message, name: string): Uint8Array | undefined {
  const text = textIn(message, name);
  return text === undefined || text.length % 4 !== 0 || !BASE64.test(text) ? undefined : new Uint8Array(Buffer.from(text, "base64"));
}

export function endIn({ args }: Message): ChannelEnd | undefined {
  const end = isJsonObject(args) ? args["end"] : undefined;
  if (!isJsonObject(end)) return undefined;
  const { actor, host } = end;
  if (isActorId(actor)) return { actor };
  return typeof host === "string" && host !== "" ? { host } : undefined;
}

const isActorId = (value: unknown): value is ActorId => typeof value === "string" && /^[a-z][a-z0-9-]{0,63}\/.+$/u.test(value);

const isDigest = (value: Json | undefined): value is string => typeof value === "string" && /^[0-9a-f]{64}$/u.test(value);

export function beginningIn({ start }: Message): Beginning | undefined {
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
export const isOwn = ({ from, viewer }: Message): boolean => from === undefined && viewer === undefined;
