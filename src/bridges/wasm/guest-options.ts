import type { ActorId, Clock, ContentStore, Digest, Entropy, Policy } from "../../core/contract/index.ts";
import type { Component } from "./component/component.ts";
import type { HttpLimits } from "./host/http-client.ts";
import type { Grants, Manifest } from "./manifest/manifest.ts";
import type { GuestLimits, Sandbox } from "./sandbox.ts";

/** A guest that starts another: what it says reaches no further than it does itself. */
export interface ContentReader {
  /** Whether it could read that content, kept in that space, by itself. */
  reads(space: string, digest: Digest): Promise<boolean>;
}

/** How manifests are found and read. What they throw is told to whoever asked, so it says what is wrong. */
export interface Manifests {
  /** Of what a starter gave: a path, `store:…`, or the text itself. Without an origin it is the starter's own word. */
  find(given: string, reader?: ContentReader): Promise<{ readonly text: string; readonly origin?: string }>;
  /** Of a manifest's text. Throws with line and column. */
  read(text: string, origin: string | undefined): Manifest | Promise<Manifest>;
  /** A component or a first state that a manifest names. With a reader it may be the reader's own word. */
  content(reference: string, origin: string | undefined, reader?: ContentReader): Promise<Uint8Array>;
  /** Whether the operator wrote what is at that origin: such a manifest may grant a child more than its parent has. */
  isTrusted(origin: string): boolean;
}

/** An event of Theater's chain, as a parent is shown it. */
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
  /** Of a guest whose manifest says nothing. */
  readonly limits: GuestLimits;
  /** What a manifest may ask for at most. Default: `limits`. */
  readonly most?: Partial<Pick<GuestLimits, "callMs" | "memoryBytes">>;
  readonly manifests: Manifests;
  /** Throws what is wrong with it. */
  readonly readComponent: (bytes: Uint8Array) => Component | Promise<Component>;
  /** Throws which of its imports the manifest does not grant. */
  readonly checkGranted: (component: Component, grants: Grants) => void;
  /** The environment, of which a manifest shows a part. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Below it each life of a guest has a directory of its own, where its manifest names none. Absent: there are none. */
  readonly directory?: string;
  readonly http?: HttpLimits;
  /** A child's newest events, as many as can be told at once, oldest first. Absent: its parent cannot ask for them. */
  readonly childEvents?: (id: ActorId) => Promise<readonly ChildEvent[]>;
}

/** What whoever runs guests has to say. */
export interface GuestHouseOptions extends Partial<Omit<GuestOptions, "contents" | "manifests">> {
  readonly contents: ContentStore;
  /** The folder below which manifests are named by their paths, or how they are found otherwise. Default: by text and `store:` alone. */
  readonly manifests?: Manifests | string;
}

/** What a guest begins from. */
export interface GuestStart {
  readonly to: ActorId;
  /** A path, `store:…`, or the manifest's own text. */
  readonly manifest: string;
  /** Instead of the one the manifest names. */
  readonly component?: Uint8Array;
  /** Merged with the manifest's: of two JSON objects this one's keys win, else it is taken whole. */
  readonly initialState?: Uint8Array;
  /** From its state as it was: `init` does not run. */
  readonly resume?: true;
  /** How many parents it has above it. Default: none. */
  readonly generation?: number;
}

/** `start` of the message a guest begins with: all of it in the content store. */
export interface Beginning {
  readonly manifest: Digest;
  readonly origin?: string;
  readonly component: Digest;
  /** The manifest's. */
  readonly name: string;
  readonly initialState?: Digest;
  readonly resume?: true;
  /** How many parents it has above it; absent: none. */
  readonly generation?: number;
}

const MEBIBYTE = 1_048_576;

/** Of a guest whose manifest says nothing. */
export const GUEST_LIMITS: GuestLimits = {
  callMs: 5_000,
  memoryBytes: 64 * MEBIBYTE,
  hostCalls: 10_000,
  hostBytes: 64 * MEBIBYTE,
  resultBytes: 16 * MEBIBYTE,
};

/** What a manifest may ask for at most, unless the operator says otherwise. */
export const MOST_GUEST_LIMITS: Pick<GuestLimits, "callMs" | "memoryBytes"> = { callMs: 60_000, memoryBytes: 256 * MEBIBYTE };

/** What holds for a guest: what its manifest asks for, as far as the operator allows. */
export function limitsOf({ limits: asked }: Manifest, { limits, most = {} }: Pick<GuestOptions, "limits" | "most">): GuestLimits {
  const { callMs = limits.callMs, memoryBytes = limits.memoryBytes } = asked;
  return {
    ...limits,
    callMs: Math.min(callMs, Math.max(most.callMs ?? 0, limits.callMs)),
    memoryBytes: Math.min(memoryBytes, Math.max(most.memoryBytes ?? 0, limits.memoryBytes)),
  };
}
