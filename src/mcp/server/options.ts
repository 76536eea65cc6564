import type { Bag, Source } from "../../core/contract/index.ts";
import type { GatewayOptions } from "../gateway/index.ts";
import type { Middleware } from "./middleware.ts";
import type { OnError } from "./on-error.ts";
import type { WebLimits, WebOptions } from "../transport/index.ts";

type OfGateway = Omit<GatewayOptions, "source" | "info" | "instructions" | "sessionTtlMs" | "sharedSessions">;
type OfWeb = Pick<WebOptions, "path" | "auth" | "allowedHosts" | "allowedOrigins" | "sse" | "ready">;

/** Beside its name and version. What is not named here is the gateway's and the mounts' own. */
export interface ServerOptions extends OfGateway, OfWeb {
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  /** As MCP writes them: `{ src, mimeType?, sizes? }`. */
  readonly icons?: readonly Bag[];
  /** Text for the client's model. */
  readonly instructions?: string;
  /** Served beside the server's own registries: casts of actors, services, other servers' `source`. They stay their owners'. */
  readonly sources?: readonly Source[];
  /** Around every handler of the registries, the first outermost; not around `sources`. */
  readonly middleware?: readonly Middleware[];
  /** Hears what handlers threw that was no refusal, and whose time was up, with the run's id; the server's `log` has its name already. */
  readonly onError?: OnError;
  /** A handler is aborted after this long. Default 60,000. */
  readonly handlerMs?: number;
  /** A legacy session over HTTP ends after this long without a request. Default: `MCP_SESSION_TTL_MINUTES` (a positive whole number), else 60 minutes. */
  readonly sessionTtlMs?: number;
  /** Variables of the environment. Default: `process.env`, where there is one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Other processes may serve the same sessions from the same stores: a session's row is read for each of its requests. Default:
   * where `sessions` is given. `false` for a store that is this process's alone.
   */
  readonly sharedSessions?: boolean;
  /** Of `fetch` and `node`; `listen` has its own. */
  readonly webLimits?: Partial<WebLimits>;
}
