/**
 * `unreached`: no connection came about. `ended`: it closed. `silent`: no reply in time. `garbled`: what came was not the reply.
 * `left`: the caller did.
 */
export type LineEnd = "unreached" | "ended" | "silent" | "garbled" | "left";

/** A connection is of no use any more: a reply that came later would be taken for the next command's. */
export class LineError extends Error {
  override readonly name = "LineError";
  readonly why: LineEnd;
  /** The command had been written: it may have been carried out. */
  readonly sent: boolean;
  constructor(why: LineEnd, message: string, sent: boolean) {
    super(message);
    this.why = why;
    this.sent = sent;
  }
}
