import { packetClient, type PacketClient } from "../bridges/packet/client.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import { PacketClientError } from "../bridges/packet/client-error.ts";
import { PacketError, type PacketErrorType } from "../bridges/packet/packet-error.ts";
import { CommandError, EXIT, type ExitCode } from "./command-error.ts";

/** Where packets go, and whose they are. */
export interface PacketPlace {
  readonly url: string;
  readonly token?: string;
  readonly timeout: number;
  readonly json?: boolean;
}

/** For one command: it tries to connect once. */
export const openClient = ({ url, token, timeout }: PacketPlace): PacketClient =>
  packetClient(url, { timeoutMs: timeout, patienceMs: 0, ...omitUndefined({ token }) });

const EXITS: Readonly<Partial<Record<PacketErrorType, ExitCode>>> = {
  protocol_error: EXIT.usage,
  unsupported_version: EXIT.usage,
  unknown_type: EXIT.usage,
  capability_not_found: EXIT.notFound,
  actor_not_found: EXIT.notFound,
  validation_failed: EXIT.refused,
  no_handler: EXIT.refused,
  unauthorized: EXIT.refused,
  actor_limit_exceeded: EXIT.refused,
  rate_limited: EXIT.refused,
};

/** How a command ends that was answered with this, or not at all. */
export const packetFailure = (error: unknown): unknown => {
  if (error instanceof PacketError) return new CommandError(EXITS[error.type] ?? EXIT.failed, error.type, error.message);
  if (!(error instanceof PacketClientError)) return error;
  if (error.code === "UNREACHABLE") return new CommandError(EXIT.unavailable, "UNREACHABLE", error.message);
  return new CommandError(EXIT.failed, error.code, error.message);
};
