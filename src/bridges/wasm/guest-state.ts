// Owns: the state of a guest's actor, and recognising it. Does not own: the state of the guest itself, which is bytes in the content store.
import { type ActorId, type Digest, isJsonObject } from "../../core/contract/index.ts";

/** The kind of all guests. */
export const GUEST = "guest";

export const isGuestId = (id: unknown): id is `${typeof GUEST}/${string}` => typeof id === "string" && id.startsWith(`${GUEST}/`);

export const isDigest = (value: unknown): value is Digest => typeof value === "string" && /^[0-9a-f]{64}$/u.test(value);

/** Of one guest. */
export const MAX_CHILDREN = 1_000;
/** Of one guest, open at the same time. */
export const MAX_CHANNELS = 1_000;

/** The state of an actor that runs a guest. It is small: large parts are in the content store. */
export interface GuestState {
  /** Its UUID, by which Theater's clients address it. */
  readonly id: string;
  /** The name in its manifest. */
  readonly name: string;
  /** The digest of the manifest's text. */
  readonly manifest: Digest;
  /** Where the manifest came from: a path or `store:…`; absent for inline text. */
  readonly origin?: string;
  readonly component: Digest;
  /** The digest of the guest's own state; null if it has none. */
  readonly state: Digest | null;
  readonly status: "running" | "paused";
  /** Why it is paused. `seq` is the number of the event in the chain. */
  readonly failed?: { readonly seq: number; readonly message: string };
  /** The actor that started it, if any. It is notified of errors and of the end. */
  readonly parent?: ActorId;
  /** The number of its ancestors; absent: 0. */
  readonly generation?: number;
  /** Ids by UUID. */
  readonly children: Readonly<Record<string, ActorId>>;
  /** The other ends of its open channels, by channel id. */
  readonly channels: Readonly<Record<string, ChannelEnd>>;
  /** Message ids of requests that it will answer later. */
  readonly outstanding: readonly string[];
}

/** `host`: a client outside the engine, connected to the process of that id. */
export type ChannelEnd = { readonly actor: ActorId } | { readonly host: string };

/** Checks a value from a store or a chain. */
export const isGuestState = (value: unknown): value is GuestState =>
  isJsonObject(value) &&
  typeof value["id"] === "string" &&
  typeof value["manifest"] === "string" &&
  typeof value["component"] === "string" &&
  (value["state"] === null || typeof value["state"] === "string") &&
  isJsonObject(value["children"]) &&
  isJsonObject(value["channels"]) &&
  Array.isArray(value["outstanding"]);

/** The message for callers of a paused guest. */
export const pausedMessage = ({ failed }: GuestState): string =>
  failed === undefined
    ? "This actor is paused with its parent, which failed: restart either."
    : `This actor is paused after event ${failed.seq} (${failed.message}): restart it.`;
