/** Why a packet client's request failed, other than by a reply. */
export type PacketClientCode =
  /** No connection came about, or the server took none. */
  | "UNREACHABLE"
  /** The connection ended before the reply came. */
  | "LOST"
  /** No reply within `timeoutMs`. */
  | "TIMEOUT"
  /** The caller's signal: it is the `cause`. */
  | "CANCELLED"
  /** The client was closed. */
  | "CLOSED"
  /** As much waits for replies as may. */
  | "FULL"
  /** A packet of this id still waits for its reply. */
  | "ID_IN_USE"
  /** What answered speaks no packets, or said more than is taken. */
  | "BAD_REPLY";

/** Why there is no reply. What a server replies is a packet instead, or the `PacketError` of one. */
export class PacketClientError extends Error {
  override readonly name = "PacketClientError";
  readonly code: PacketClientCode;
  /** False: the server has not seen the packet, and it can be sent again as it was. */
  readonly applied: false | "unknown";
  constructor(
    code: PacketClientCode,
    message: string,
    { applied, cause }: { readonly applied: false | "unknown"; readonly cause?: unknown },
  ) {
    super(`${message} ${applied === false ? NOT_APPLIED : UNKNOWN}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.applied = applied;
  }
}

const NOT_APPLIED = "The packet was not applied: send it again.";
const UNKNOWN = "Whether the packet was applied is not known: look before you send it again.";

/** The reason a caller's time is over by. */
export class ReplyTimeout extends Error {
  constructor(ms: number) {
    super(`No reply came within ${ms} ms.`);
  }
}

/** For a packet that was given up. */
export function abortError({ reason }: AbortSignal, applied: false | "unknown"): PacketClientError {
  if (reason instanceof ReplyTimeout) return new PacketClientError("TIMEOUT", reason.message, { applied });
  return new PacketClientError("CANCELLED", "The caller gave the packet up.", { applied, cause: reason });
}

/** What went wrong, by name: Node hides the cause of a failed fetch one level down. */
export function failureReason(error: unknown): string {
  if (!(error instanceof Error)) return "it failed";
  const code = errorCode(error) ?? errorCode(error.cause);
  return code ?? (error.message === "" ? error.name : error.message);
}

export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
