// Owns: `fromAgenticService`, and the check of its options. Does not own: the sources (service-source.ts, per-viewer.ts).
import { checkOptions, FUNCTION, oneOf, type OptionTable, type Source } from "../../core/contract/index.ts";
import { describeSource } from "../../mcp/source/index.ts";
import type { AgenticService } from "./agentic-service.ts";
import { PerViewer, type PerViewerOptions, type ServiceFor } from "./per-viewer.ts";
import type { AgenticServiceOptions } from "./service-options.ts";
import { ServiceSource } from "./service-source.ts";

/** A source that observes a service until it is disposed. It has no chain: what it does is not recorded (law 1). */
export interface AgenticSource extends Source, Disposable {
  /** Ends its subscriptions and timers. The service stays open. */
  close(): void;
}

const OPTIONS: OptionTable<PerViewerOptions> = {
  name: true,
  instructions: true,
  actions: true,
  states: oneOf("resources", "tool", "omit"),
  stateDescriptions: true,
  stateUri: FUNCTION,
  stateIntervalMs: true,
  pageLength: ["a whole number above 0, or Infinity", (value) => value === Infinity || (Number.isSafeInteger(value) && Number(value) > 0)],
  links: oneOf("namespaced", "flat", "list"),
  flatName: FUNCTION,
  linkDescriptions: true,
  linkAddress: FUNCTION,
  changedStates: true,
  waitForChange: true,
  text: oneOf("error", "data"),
  callMs: true,
  names: true,
  clock: true,
  firstEmissionMs: true,
  maxDepth: true,
  maxServices: true,
  onFault: FUNCTION,
  idleMs: true,
  maxIdle: ["a whole number from 0 on, or Infinity", (value) => value === Infinity || (Number.isSafeInteger(value) && Number(value) >= 0)],
  onRelease: FUNCTION,
};

/**
 * Serves an AgenticService: its actions as tools, its states as resources, its links under prefixes. A service is shared by all
 * viewers; a function from viewer to service gives each viewer its own. Calls fail with `REFUSED` and the text that an action returned,
 * or `CRASHED` and the message of what it threw. Throws `BAD_OPTION`.
 */
export function fromAgenticService(service: AgenticService, options?: AgenticServiceOptions): AgenticSource;
export function fromAgenticService(serviceFor: ServiceFor, options?: PerViewerOptions): AgenticSource;
export function fromAgenticService(of: AgenticService | ServiceFor, options: PerViewerOptions = {}): AgenticSource {
  checkOptions("fromAgenticService", options, OPTIONS);
  const source = typeof of === "function" ? new PerViewer(of, options) : new ServiceSource(of, options);
  const name = options.name ?? (typeof of === "function" ? undefined : of.serviceName);
  describeSource(source, name === undefined ? "an AgenticService" : `the service ${name}`);
  return source;
}
