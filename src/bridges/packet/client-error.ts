// Owns: why a packet client has no reply, and whether the packet may have been applied. Does not own: errors in replies (packet.ts).
/** Why a packet client's request has no reply. */
export type PacketClientCode =
  /** No connection could be opened. */
  | "UNREACHABLE"
  /** The connection ended before the reply. */
  | "LOST"
  /** No reply within `timeoutMs`. */
  | "TIMEOUT"
  /** Aborted by the caller's signal; the reason is the `cause`. */
  | "CANCELLED"
  /** The client was closed. */
  | "CLOSED"
  /** Too many packets, or too much text, wait for replies. */
  | "FULL"
  /** Another packet with this id waits for its reply. */
  | "ID_IN_USE"
  /** The response was not a packet, or too long. */
  | "BAD_REPLY";

/** Thrown if there is no reply. An error in a reply is a packet, or its `PacketError`. */
export class PacketClientError extends Error {
  override readonly name = "PacketClientError";
  readonly code: PacketClientCode;
  /** False: the server has not seen the packet, so it can be sent again unchanged. */
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

/** The abort reason after a timeout. */
export class ReplyTimeout extends Error {
  constructor(ms: number) {
    super(`No reply came within ${ms} ms.`);
  }
}

/** The error of an aborted packet. */
export function abortError({ reason }: AbortSignal, applied: false | "unknown"): PacketClientError {
  if (reason instanceof ReplyTimeout) return new PacketClientError("TIMEOUT", reason.message, { applied });
  return new PacketClientError("CANCELLED", "The caller gave the packet up.", { applied, cause: reason });
}

/** The error's code if it has one, otherwise its text: Node hides the cause of a failed fetch one level down. */
export function failureReason(error: unknown): string {
  if (!(error instanceof Error)) return "it failed";
  const { cause } = error;
  const { name, message } = cause instanceof Error && cause.message !== "" ? cause : error;
  return errorCode(error) ?? errorCode(cause) ?? (message === "" ? name : message);
}

export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
