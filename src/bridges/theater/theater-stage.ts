import type { Digest } from "../../core/contract/index.ts";
import type { EventQuery, Stage } from "./stage.ts";

/** One event as Theater's protocol has it, in the order of its keys. */
export interface TheaterEvent {
  /** SHA-1, 20 bytes. */
  readonly hash: Uint8Array;
  readonly parentHash: Uint8Array | null;
  readonly eventType: string;
  /** JSON of Theater's `EventData`. */
  readonly data: Uint8Array;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly description: string | null;
}

/** How an actor ended, told to whoever started it as its parent. */
export type ActorEnd =
  | { readonly how: "success"; readonly result: Uint8Array | undefined }
  | { readonly how: "error"; readonly event: TheaterEvent | undefined; readonly message: string }
  | { readonly how: "external-stop" };

/** A part of a chain, oldest first. */
export interface ChainPage {
  readonly events: readonly TheaterEvent[];
  /** There are others in the direction it was asked for: later ones with `after`, else earlier ones. */
  readonly more: boolean;
}

/** What Theater's own protocol asks of a stage besides. */
export interface TheaterStage extends Stage {
  /** Whole, oldest first, linked by SHA-1. */
  chain(id: string): Promise<readonly TheaterEvent[]>;
  /** Of the same: as many as `limit`, or as can be sent at once. Events are named by their hashes in hexadecimal. */
  chainPage(id: string, query: EventQuery): Promise<ChainPage>;
  /** Events from now on, and the actor's end. Returns its undo. */
  follow(id: string, listener: { event(event: TheaterEvent): void; ended(end: ActorEnd): void }): Promise<() => void>;
  /** At once, without its children's leave. */
  terminate(id: string): Promise<void>;
  /** Another component from its next message on: a path or `store:…`. Its state stays. */
  update(id: string, component: string): Promise<void>;
  newStore(): Promise<string>;
  /** A content of the stage's store; for `store:` references. */
  content(digest: Digest): Promise<Uint8Array | undefined>;
}
