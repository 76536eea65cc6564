import type { OfferRef, Viewer } from "../../core/contract/index.ts";

/** Which run of which handler, and for whom. */
export interface Run {
  readonly offer: OfferRef;
  readonly requestId: string;
  readonly viewer: Viewer;
}

/** What a handler threw that was no refusal, or `WORK_TIMEOUT` once its time was up. What its client reads stays the same. */
export type OnError = (error: unknown, run: Run) => void;
