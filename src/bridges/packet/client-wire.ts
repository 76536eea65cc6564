import type { Clock } from "../../core/contract/index.ts";

/** One connection that is open: packets go out and come in, one text each. It ends with the signal it was opened with. */
export interface Wire {
  send(text: string): void;
}

/** How one is opened. */
export interface WireOptions {
  readonly url: URL;
  readonly token: string | undefined;
  /** Of one text that comes in, in UTF-16 units; a longer one ends the connection. */
  readonly maxChars: number;
  readonly connectMs: number;
  readonly clock: Clock;
  /** Aborted: it is not wanted any more, and ends without a word. */
  readonly signal: AbortSignal;
  readonly heard: (text: string) => void;
  /** Once, after it was open: why it is not any more. */
  readonly ended: (why: string) => void;
}

/** Settles when it is open. Rejects, in words, where it does not come about. */
export type OpenWire = (options: WireOptions) => Promise<Wire>;
