// Owns: what `createGuests` takes, and the limits of guests. Does not own: reading manifests (manifest/read-manifest.ts).
import type { ActorId, Clock, ContentStore, Digest, Entropy, Policy } from "../../core/contract/index.ts";
import type { Component } from "./component/component.ts";
import type { HttpLimits } from "./host/http-client.ts";
import type { Grants, Manifest } from "./manifest/manifest.ts";
import type { GuestLimits, Sandbox } from "./sandbox.ts";

/** A guest that starts another: manifest and component may come only from where the guest itself can read. */
export interface ContentReader {
  /** Whether the guest could read that content of that space itself. */
  reads(space: string, digest: Digest): Promise<boolean>;
}

/** How manifests are found and read. Their errors are reported to the caller, so the messages must be meaningful. */
export interface Manifests {
  /** Finds a manifest by a path, by `store:…`, or takes the text itself. Without an origin, the starter wrote it. */
  find(given: string, reader?: ContentReader): Promise<{ readonly text: string; readonly origin?: string }>;
  /** Parses a manifest's text. Throws with line and column. */
  read(text: string, origin: string | undefined): Manifest | Promise<Manifest>;
  /** Reads the component or initial state that a manifest names. With a reader, only what that guest may read. */
  content(reference: string, origin: string | undefined, reader?: ContentReader): Promise<Uint8Array>;
  /** Whether the operator wrote the manifest of that origin. Such a manifest may grant a child more than its parent has. */
  isTrusted(origin: string): boolean;
}

/** An event of Theater's chain, in the form that a parent receives. */
export interface ChildEvent {
  readonly hash: Uint8Array;
  readonly parentHash: Uint8Array | null;
  readonly eventType: string;
  readonly data: Uint8Array;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** What `createGuests` takes. */
export interface GuestOptions {
  readonly sandbox: Sandbox;
  readonly contents: ContentStore;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly persistence: Exclude<Policy["persistence"], "distributed">;
  /** The limits of a guest whose manifest sets none. */
  readonly limits: GuestLimits;
  /** The highest limits that a manifest may set. Default: `limits`. */
  readonly most?: Partial<Pick<GuestLimits, "callMs" | "memoryBytes">>;
  readonly manifests: Manifests;
  /** Throws if the component is invalid. */
  readonly readComponent: (bytes: Uint8Array) => Component | Promise<Component>;
  /** Throws if the component imports something that the manifest does not grant. */
  readonly checkGranted: (component: Component, grants: Grants) => void;
  /** The environment variables. A manifest exposes a part of them. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Contains a private directory for each life of a guest whose manifest names none. Absent: such guests have no files. */
  readonly directory?: string;
  readonly http?: HttpLimits;
  /** The newest events of a child, oldest first. Absent: parents cannot read events of their children. */
  readonly childEvents?: (id: ActorId) => Promise<readonly ChildEvent[]>;
}

/** The options of `createGuests`; only `contents` is required. */
export interface GuestHouseOptions extends Partial<Omit<GuestOptions, "contents" | "manifests">> {
  readonly contents: ContentStore;
  /** The directory in which paths of manifests are looked up, or another way to find them. Default: only inline text and `store:`. */
  readonly manifests?: Manifests | string;
}

/** What a guest is started from. */
export interface GuestStart {
  readonly to: ActorId;
  /** A path, `store:…`, or the manifest's own text. */
  readonly manifest: string;
  /** Used instead of the component that the manifest names. */
  readonly component?: Uint8Array;
  /** Overrides the manifest's initial state. Two JSON objects are merged, and these keys win. */
  readonly initialState?: Uint8Array;
  /** Continues from `initialState` without calling `init`. */
  readonly resume?: true;
  /** The number of its ancestors. Default: 0. */
  readonly generation?: number;
}

/** The `start` field of a guest's first message. All parts are in the content store. */
export interface Beginning {
  readonly manifest: Digest;
  readonly origin?: string;
  readonly component: Digest;
  /** The name in the manifest. */
  readonly name: string;
  readonly initialState?: Digest;
  readonly resume?: true;
  /** The number of its ancestors; absent: 0. */
  readonly generation?: number;
}

const MEBIBYTE = 1_048_576;

/** The limits of a guest whose manifest sets none. */
export const GUEST_LIMITS: GuestLimits = {
  callMs: 5_000,
  memoryBytes: 64 * MEBIBYTE,
  hostCalls: 10_000,
  hostBytes: 64 * MEBIBYTE,
  resultBytes: 16 * MEBIBYTE,
};

/** The highest limits that a manifest may set, unless the operator configures others. */
export const MOST_GUEST_LIMITS: Pick<GuestLimits, "callMs" | "memoryBytes"> = { callMs: 60_000, memoryBytes: 256 * MEBIBYTE };

/** The limits of a guest: those of its manifest, capped by those of the operator. */
export function limitsOf({ limits: requested }: Manifest, { limits, most = {} }: Pick<GuestOptions, "limits" | "most">): GuestLimits {
  const { callMs = limits.callMs, memoryBytes = limits.memoryBytes } = requested;
  return {
    ...limits,
    callMs: Math.min(callMs, Math.max(most.callMs ?? 0, limits.callMs)),
    memoryBytes: Math.min(memoryBytes, Math.max(most.memoryBytes ?? 0, limits.memoryBytes)),
  };
}
