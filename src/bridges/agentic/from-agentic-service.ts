import { checkOptions, FUNCTION, oneOf, type OptionTable, type Source } from "../../core/contract/index.ts";
import { describeSource } from "../../mcp/source/index.ts";
import type { AgenticService } from "./agentic-service.ts";
import type { AgenticServiceOptions } from "./options.ts";
import { PerViewer, type PerViewerOptions, type ServiceFor } from "./per-viewer.ts";
import { ServiceSource } from "./service-source.ts";

/** A source that listens to a service until it is disposed of. It has no chain: what it does is written nowhere (law 1). */
export interface AgenticSource extends Source, Disposable {
  /** Ends its listeners and timers; the service stays open. */
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
  onRelease: FUNCTION,
};

/**
 * Serves an AgenticService: its actions as tools, its states as resources, its links under prefixes. Given a service,
 * all viewers meet it; given a function from viewer to service, each meets its own. Calls that fail: `REFUSED` with the
 * text an action returned, `CRASHED` with the message of what it threw. Throws `BAD_OPTION`.
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
