/**
 * `unreached`: not connected. `ended`: the connection closed. `silent`: no reply in time. `garbled`: an unexpected reply. `left`: the
 * caller cancelled.
 */
export type ConnectionEnd = "unreached" | "ended" | "silent" | "garbled" | "left";

/** The connection is unusable: a delayed reply would be taken for that of the next command. */
export class ConnectionError extends Error {
  override readonly name = "LineError";
  readonly why: ConnectionEnd;
  /** The command was written, so it may have been executed. */
  readonly sent: boolean;
  constructor(why: ConnectionEnd, message: string, sent: boolean) {
    super(message);
    this.why = why;
    this.sent = sent;
  }
}
