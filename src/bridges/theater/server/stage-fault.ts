import type { Log } from "../../../core/contract/index.ts";
import { StageError } from "../stage.ts";
import { type Fault, WireError } from "../wire/index.ts";

/** The error that a client receives. Anything but a `StageError` or `WireError` is a fault of the server and is logged. */
export function toFault(error: unknown, log: Log | undefined): Fault {
  if (error instanceof StageError) return { code: error.code, message: error.message };
  if (error instanceof WireError) return { code: "InvalidRequest", message: error.message };
  const { name, message } = error instanceof Error ? error : { name: "unknown", message: String(error) };
  log?.("error", { event: "command-failed", transport: "theater", name, message });
  return { code: "InternalError", message: "The server failed at this command: its log says of what." };
}
