// Owns: what the imports of a call work on: the actor, the engine and the stores around it. Does not own: dispatching them (call-host.ts).
import type { Behaviour, Context, Digest, Engine, Message, Outgoing } from "../../../core/contract/index.ts";
import type { WitValue } from "../wit.ts";
import type { ImportResult } from "../sandbox.ts";
import type { ContentReader, GuestOptions, GuestStart } from "../guest-options.ts";
import type { GuestState } from "../guest-state.ts";
import type { Manifest } from "../manifest/manifest.ts";

import type { CallEffects, RequestCache } from "./call-effects.ts";

/** Stores a content. With a space, it is listed in that space. */
export type Put = (bytes: Uint8Array, space?: string) => Promise<Digest>;

/** A guest that starts another. `allow` throws if the child would exceed its grants. */
export interface Starter extends ContentReader {
  allow(manifest: Manifest, origin: string | undefined): void;
}

/** What a call needs; the same for all its attempts. */
export interface CallEnvironment {
  readonly options: GuestOptions;
  readonly engine: Engine;
  /** Kinds of other actors, as far as known. */
  readonly kinds: readonly Behaviour[];
  /** The `host` of channel ends that clients of this process hold. */
  readonly process: string;
  readonly context: Context;
  readonly message: Message;
  readonly uid: string;
  readonly life: string;
  /** The number of the event that the call will leave. */
  readonly seq: number;
  readonly state: GuestState;
  /** Requests that it may answer, including the current one. */
  readonly outstanding: readonly string[];
  readonly manifest: Manifest;
  readonly requests: RequestCache;
  /** Channels of interrupted calls. They are closed, so their ids must not be used again. */
  readonly interruptedChannels: ReadonlySet<string>;
  readonly put: Put;
  /** Stores what a child is started from. */
  readonly prepare: (start: GuestStart, starter: Starter) => Promise<Outgoing>;
}

/** What an import works on: one attempt of a call. */
export interface ImportContext {
  readonly environment: CallEnvironment;
  readonly effects: CallEffects;
}

export type Import = (host: ImportContext, args: readonly WitValue[]) => ImportResult | Promise<ImportResult>;
