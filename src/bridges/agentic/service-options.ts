// Owns: the options of `fromAgenticService`. Does not own: those of a service per viewer (per-viewer.ts).
import type { Clock, JsonObject } from "../../core/contract/index.ts";
import type { Names, NameStyle } from "../../mcp/source/index.ts";
import type { AgenticService } from "./agentic-service.ts";

/** What a service does not specify about an action. The key is the action's path: `heal`, `child.heal`. */
export interface ActionOptions {
  readonly title?: string;
  /** MCP's tool annotations: `readOnlyHint`, `destructiveHint`, … */
  readonly annotations?: JsonObject;
  /** If true, the action is neither listed nor callable. */
  readonly hidden?: boolean;
  /** Asks the user first, if the client supports elicitation: your question, or "Do heal?" for true. A function may return undefined not to ask. */
  readonly confirm?: boolean | string | ((args: JsonObject) => string | undefined);
}

/** Options of `fromAgenticService`. */
export interface AgenticServiceOptions {
  /** The authority of its URIs. Default: the service's `serviceName`, else `service`. */
  readonly name?: string;
  readonly instructions?: string;
  readonly actions?: Readonly<Record<string, ActionOptions>>;
  /** `resources` (default): one resource per state, subscribable. `tool`: one tool `get_state`. `omit`: states are not offered. */
  readonly states?: "resources" | "tool" | "omit";
  /** Descriptions by state path. They override the `description` of the state's schema. */
  readonly stateDescriptions?: Readonly<Record<string, string>>;
  /** The URI of a state. Default `mcp://<name>/<link>/…/state/<key>`. */
  readonly stateUri?: (key: string, path: readonly string[]) => string;
  /** The shortest time between two notifications of one state to one subscriber, in milliseconds. Default 100; 0: every change. */
  readonly stateIntervalMs?: number;
  /** States whose JSON, or base64, is longer are read in pages of so many characters. Default 65,536; Infinity: never paged. */
  readonly pageLength?: number;
  /** `namespaced` (default): `child.heal`. `flat`: `child_heal`, or the result of `flatName`. `list`: not followed, but listed by a tool `list_links`. */
  readonly links?: "namespaced" | "flat" | "list";
  readonly flatName?: (key: string, path: readonly string[]) => string;
  /** Descriptions by link key. */
  readonly linkDescriptions?: Readonly<Record<string, string>>;
  /** Where a client finds a link's service if links are only listed, say its URL. */
  readonly linkAddress?: (key: string, service: AgenticService) => string | undefined;
  /** If true, a tool's result includes the states that changed while it ran: `{ result?, changed, … }`. Default false. */
  readonly changedStates?: boolean;
  /** Adds a tool `wait_for_change`, for agents that get no notifications. It waits at most `maxMs` milliseconds; default 55,000. */
  readonly waitForChange?: boolean | { readonly maxMs?: number };
  /** What text returned by an action means: AgenticService returns errors as text, and cannot distinguish them from data. Default `error`. */
  readonly text?: "error" | "data";
  /** Deadline of an action, and of making a viewer's service, in milliseconds: then it fails with `WORK_TIMEOUT`, but may continue. Default 55,000, since official clients abandon a call after 60,000. */
  readonly callMs?: number;
  /** How the names of links and their offers are joined. Default `dots`, as in the specification of AgenticService: `child.heal`. */
  readonly names?: NameStyle | Names;
  readonly clock?: Clock;
  /** How long a list waits for maps that have not been emitted yet, in milliseconds. Default 1,000. */
  readonly firstEmissionMs?: number;
  /** The greatest number of links from the root to a service. Default 4. */
  readonly maxDepth?: number;
  /** The greatest number of services in all, breadth first. Default 64. */
  readonly maxServices?: number;
  /** Called with faults: an invalid name, an observable that threw, a viewer's service that could not be made. Default: ignored. */
  readonly onFault?: (error: unknown) => void;
}
