// Owns: the JSON of WebAssembly guests.

import type { ActorId, Json } from "../../../core/contract/index.ts";

/** A guest as its state has it, and what this process measured. */
export interface GuestFacts {
  /** Of its manifest. */
  readonly name: string;
  /** Where the manifest came from: a path, `store:…`. Absent: a client sent it. */
  readonly origin?: string;
  /** SHA-256 of its component. */
  readonly component: string;
  /** SHA-256 of its manifest's text. */
  readonly manifest: string;
  /** Why it is paused: it takes no calls until it is restarted. */
  readonly why?: string;
  /** The event at which it failed, by its number. */
  readonly failedAt?: number;
  readonly parent?: ActorId;
  readonly children: readonly ActorId[];
  /** That are open. */
  readonly channels: number;
  /** Requests that it will answer later. */
  readonly requests: number;
  /** Absent: no call has ended since the server started. */
  readonly measured?: GuestMeasured;
}

/** Of a guest's calls since the server started, or since the guest began. */
export interface GuestMeasured {
  /** Calls that ended in an error, a trap or a time-out. */
  readonly failed: number;
  readonly totalMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** Of its instance after the last call. Absent: there is no instance now. */
  readonly memoryBytes?: number;
}

/** One row of `GET /guests`. */
export interface GuestRow extends GuestFacts {
  readonly id: ActorId;
  /** Decoded. */
  readonly key: string;
  readonly uid: string;
  readonly status: "running" | "paused" | "failed" | "stopped";
  /** Messages that it has handled. */
  readonly calls: number;
  readonly createdAt: number;
  readonly lastAt: number;
  /** Messages that wait in its mailbox. Absent: unknown. */
  readonly queued?: number;
}

/** `GET /guests/:key` */
export interface GuestDetail extends GuestRow {
  /** Absent: its text is not in the content store. */
  readonly manifestOf?: GuestManifest;
}

/** A guest's manifest, and what follows from it. */
export interface GuestManifest {
  readonly text: string;
  readonly version?: string;
  readonly description?: string;
  /** Of each call; of its memory. */
  readonly limits: { readonly callMs: number; readonly memoryBytes: number };
  readonly onError: "pause" | "restart";
  /** What it may do beyond computing. */
  readonly grants: readonly string[];
}

/** `POST /guests/:key/check`: calls that were run again. */
export interface GuestCheck {
  readonly run: number;
  readonly mismatches: readonly {
    readonly seq: number;
    readonly event: string;
    /** What differs. `host-call`: what it called, or with which arguments; `threw`: it could not be run. */
    readonly what: string;
    readonly recorded?: Json;
    readonly now?: Json;
  }[];
  /** Others. */
  readonly more: number;
  /** Events that could not be run and were taken from the record, by why. */
  readonly taken: Readonly<Record<string, number>>;
}

/** `POST /guests/collect` */
export interface Collected {
  readonly retained: number;
  readonly dropped: number;
  readonly bytes: number;
}
