import { PacketError } from "./packet-error.ts";

/** Errors on their way out of what a capability asked another for, and whose they were. */
const inner = new WeakMap<PacketError, string>();

/** What another capability is asked for: whose its error is, is known from here on. */
export async function fromInner<T>(capabilityId: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof PacketError) inner.set(error, capabilityId);
    throw error;
  }
}

/** As the caller of the one that asked is told it: to that one it is no fault of its request. */
export function outward(id: string, error: PacketError): PacketError {
  const whose = inner.get(error);
  if (whose === undefined || error.type === "cancelled") return error;
  const details = { capability_id: whose, type: error.type, details: error.details };
  return new PacketError("execution_failed", `${id} failed, since ${whose} did: ${error.message}`, details, { cause: error });
}
