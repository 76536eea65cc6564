import { VALUE_LIMITS } from "../../../core/contract/internal.ts";
import { WIRE_LIMITS } from "../wire/index.ts";
import type { TheaterLimits } from "./options.ts";

export const THEATER_LIMITS: TheaterLimits = {
  ...WIRE_LIMITS,
  values: VALUE_LIMITS.values,
  connections: 256,
  subscriptions: 256,
  channels: 256,
  waiting: 16,
  requestMs: 300_000,
  frameMs: 60_000,
  blockedMs: 60_000,
  queuedBytes: 16 * 1_048_576,
  listed: 200_000,
};
