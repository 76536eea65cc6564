import type { Clock, Entropy } from "../../core/contract/index.ts";
import type { HostPort } from "../address.ts";
import type { ServerLog, ServerLogLevel } from "../log.ts";
import type { NodePlace, NodeProgram } from "./node-process.ts";
import type { NodeShare } from "./serve-program.ts";

/** What `troupe cluster dev` is told. */
export interface DevOptions {
  readonly nodes: number;
  readonly http: HostPort;
  readonly data?: string;
  readonly grace: number;
  readonly log: ServerLogLevel;
  readonly json?: boolean;
}

/** What tests put in its place. */
export interface DevParts {
  readonly program?: (place: NodePlace, share: NodeShare) => NodeProgram;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
}

/** The same, with all that is left open filled in. */
export interface DevClusterOptions extends Omit<DevOptions, "data"> {
  readonly modules: readonly string[];
  readonly directory: string;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly program: NonNullable<DevParts["program"]>;
  readonly logTo: ServerLog;
  /** Gives up the start. */
  readonly signal: AbortSignal;
}
