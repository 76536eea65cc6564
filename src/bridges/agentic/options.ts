import type { JsonObject, Clock } from "../../core/contract/index.ts";
import type { Names, NameStyle } from "../../mcp/source/index.ts";
import type { AgenticService } from "./agentic-service.ts";

/** What a service does not say of an action, under the action's name as its path has it: `heal`, `child.heal`. */
export interface ActionOptions {
  readonly title?: string;
  /** MCP's tool annotations: `readOnlyHint`, `destructiveHint`, … */
  readonly annotations?: JsonObject;
  /** Neither listed nor callable. */
  readonly hidden?: boolean;
  /** The person is asked first, where the client can ask: a question of one's own, or "Do heal?". Undefined: not this time. */
  readonly confirm?: boolean | string | ((args: JsonObject) => string | undefined);
}

/** What `fromAgenticService` takes besides the service: its name in URIs, the server's instructions and its bounds. */
export interface AgenticServiceOptions {
  /** The authority of its URIs. Default: the service's `serviceName`, else `service`. */
  readonly name?: string;
  readonly instructions?: string;
  readonly actions?: Readonly<Record<string, ActionOptions>>;
  /** `resources` (default): a resource each, subscribable. `tool`: one tool `get_state`. `omit`: not shown. */
  readonly states?: "resources" | "tool" | "omit";
  /** Under the state's name as its path has it. A service's own way to say it is its schema's `description`. */
  readonly stateDescriptions?: Readonly<Record<string, string>>;
  /** Where a state is read. Default `mcp://<name>/<link>/…/state/<key>`. */
  readonly stateUri?: (key: string, path: readonly string[]) => string;
  /** A subscriber hears of one state at most once in so many milliseconds, and then of its last value. Default 100; 0: each time. */
  readonly stateIntervalMs?: number;
  /** A state whose JSON, or whose bytes in base64, are longer is read in pages of so many characters. Default 65,536; Infinity: never. */
  readonly pageLength?: number;
  /** `namespaced` (default): `child.heal`. `flat`: `child_heal`, or as `flatName` says. `list`: not followed; `list_links` tells of them. */
  readonly links?: "namespaced" | "flat" | "list";
  readonly flatName?: (key: string, path: readonly string[]) => string;
  /** By the link's key. */
  readonly linkDescriptions?: Readonly<Record<string, string>>;
  /** Where a client finds a link's service when links are listed only, say a URL. */
  readonly linkAddress?: (key: string, service: AgenticService) => string | undefined;
  /** A tool's result carries the states that changed while it ran: `{ result?, changed, … }`. Default false. */
  readonly changedStates?: boolean;
  /** A tool `wait_for_change`, for agents that take turns and hear no push. It waits at most so long; default 55,000. */
  readonly waitForChange?: boolean | { readonly maxMs?: number };
  /** What text that an action returns means: AgenticService says an error by it, and cannot tell it from data. Default `error`. */
  readonly text?: "error" | "data";
  /** An action, or a viewer's service, that is not there by then has failed (`WORK_TIMEOUT`), though it may go on. Default 55,000, since official clients give a call up after 60,000. */
  readonly callMs?: number;
  /** How the names of links and their offers are joined. Default `dots`, as the specification of AgenticService has them: `child.heal`. */
  readonly names?: NameStyle | Names;
  readonly clock?: Clock;
  /** How long a list waits for maps that have not come yet. Default 1,000. */
  readonly firstEmissionMs?: number;
  /** Links followed one after the other. Default 4. */
  readonly maxDepth?: number;
  /** Services shown in all, nearest first. Default 64. */
  readonly maxServices?: number;
  /** A name that could not be shown, an observable that threw, a viewer's service that could not be made. Default: nobody is told. */
  readonly onFault?: (error: unknown) => void;
}
