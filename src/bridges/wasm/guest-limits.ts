import type { GuestOptions } from "./guest-options.ts";
import type { Manifest } from "./manifest.ts";
import type { GuestLimits } from "./sandbox.ts";

const MEBIBYTE = 1_048_576;

/** Of a guest whose manifest says nothing. */
export const GUEST_LIMITS: GuestLimits = {
  callMs: 5_000,
  memoryBytes: 64 * MEBIBYTE,
  hostCalls: 10_000,
  hostBytes: 64 * MEBIBYTE,
  resultBytes: 16 * MEBIBYTE,
};

/** What a manifest may ask for at most, unless the operator says otherwise. */
export const MOST_GUEST_LIMITS: Pick<GuestLimits, "callMs" | "memoryBytes"> = { callMs: 60_000, memoryBytes: 256 * MEBIBYTE };

/** What holds for a guest: what its manifest asks for, as far as the operator allows. */
export function limitsOf({ limits: asked }: Manifest, { limits, most = {} }: Pick<GuestOptions, "limits" | "most">): GuestLimits {
  const { callMs = limits.callMs, memoryBytes = limits.memoryBytes } = asked;
  return {
    ...limits,
    callMs: Math.min(callMs, Math.max(most.callMs ?? 0, limits.callMs)),
    memoryBytes: Math.min(memoryBytes, Math.max(most.memoryBytes ?? 0, limits.memoryBytes)),
  };
}
