import { type ActorId, type Digest, isJsonObject } from "../../core/contract/index.ts";

/** The kind all guests are of. */
export const GUEST = "guest";

/** An actor's state while a guest runs in it: small, what is large is in the content store. */
export interface GuestState {
  /** Its UUID, as Theater's faces know it. */
  readonly id: string;
  /** Of its manifest. */
  readonly name: string;
  /** Of the manifest's text. */
  readonly manifest: Digest;
  /** What its starter called it: a path, `store:…`; absent for inline text. */
  readonly origin?: string;
  readonly component: Digest;
  /** Of the guest's own state; null: it has none. */
  readonly state: Digest | null;
  readonly status: "running" | "paused";
  /** Why it is paused: the event, by its number in the chain. */
  readonly failed?: { readonly seq: number; readonly message: string };
  /** Who started it, where that was an actor: told of its errors and its end. */
  readonly parent?: ActorId;
  /** How many parents it has above it; absent: none. */
  readonly generation?: number;
  /** By their UUIDs. */
  readonly children: Readonly<Record<string, ActorId>>;
  /** Open channels: with whom. */
  readonly channels: Readonly<Record<string, ChannelEnd>>;
  /** Requests it will answer later: their message ids. */
  readonly outstanding: readonly string[];
}

/** `host`: somebody outside, who is held by the process that has this id. */
export type ChannelEnd = { readonly actor: ActorId } | { readonly host: string };

/** Of what a store or a chain has for a guest's actor. */
export const isGuestState = (value: unknown): value is GuestState =>
  isJsonObject(value) &&
  typeof value["id"] === "string" &&
  typeof value["manifest"] === "string" &&
  typeof value["component"] === "string" &&
  (value["state"] === null || typeof value["state"] === "string") &&
  isJsonObject(value["children"]) &&
  isJsonObject(value["channels"]) &&
  Array.isArray(value["outstanding"]);

/** For the callers of a paused guest. */
export const pausedMessage = ({ failed }: GuestState): string =>
  failed === undefined
    ? "This actor is paused with its parent, which failed: restart either."
    : `This actor is paused after event ${failed.seq} (${failed.message}): restart it.`;
