import { count, bytesOrNull, text } from "../values.ts";
import type { HostInterface } from "./told.ts";

const RUNTIME_FAMILY = "Runtime";

export const RUNTIME: HostInterface = {
  log: ({ args: [message] }) => ({ family: RUNTIME_FAMILY, called: { Log: { level: "info", message: text(message) } } }),
  "get-state": () => ({
    family: RUNTIME_FAMILY,
    called: { StateChangeCall: { old_state: "unknown", new_state: "requested" } },
    returned: { StateChangeResult: { success: true } },
  }),
  // Theater declares this function but never offered it to guests, and has no event for it.
  "get-chain": () => ({ family: RUNTIME_FAMILY, called: { Log: { level: "debug", message: "get-chain" } } }),
  shutdown: ({ args: [data] }) => ({
    family: RUNTIME_FAMILY,
    called: { ShutdownCall: { data: bytesOrNull(data) } },
    returned: { ShutdownRequested: { success: true } },
    failed: { ShutdownRequested: { success: false } },
  }),
};

export const TIMING: HostInterface = {
  now: ({ ok }) => ({ family: "Timing", called: { NowCall: {} }, returned: { NowResult: { timestamp: count(ok) } } }),
  sleep: ({ args: [duration], error }) => ({
    family: "Timing",
    called: { SleepCall: { duration: count(duration) } },
    returned: { SleepResult: { duration: count(duration), success: true } },
    failed: { Error: { operation: "sleep", message: error } },
  }),
  deadline: ({ args: [timestamp], error }) => ({
    family: "Timing",
    called: { DeadlineCall: { timestamp: count(timestamp) } },
    returned: { DeadlineResult: { timestamp: count(timestamp), success: true } },
    failed: { Error: { operation: "deadline", message: error } },
  }),
};

/** In this family the case is a field. */
export const RANDOM: HostInterface = {
  "random-bytes": ({ args: [size], error }) => ({
    family: "Random",
    called: { type: "random_bytes_call", requested_size: count(size) },
    returned: { type: "random_bytes_result", generated_size: count(size), success: true },
    failed: { type: "error", operation: "random-bytes", message: error },
  }),
  "random-range": ({ args: [min, max], ok, error }) => ({
    family: "Random",
    called: { type: "random_range_call", min: count(min), max: count(max) },
    returned: { type: "random_range_result", min: count(min), max: count(max), value: count(ok), success: true },
    failed: { type: "error", operation: "random-range", message: error },
  }),
  "random-float": ({ ok, error }) => ({
    family: "Random",
    called: { type: "random_float_call" },
    returned: { type: "random_float_result", value: count(ok), success: true },
    failed: { type: "error", operation: "random-float", message: error },
  }),
  "generate-uuid": ({ ok, error }) => ({
    family: "Random",
    called: { type: "generate_uuid_call" },
    returned: { type: "generate_uuid_result", uuid: text(ok), success: true },
    failed: { type: "error", operation: "generate-uuid", message: error },
  }),
};
