import type { Bag, Source } from "../contract/index.ts";
import type { GatewayOptions } from "../gateway/index.ts";
import type { Middleware } from "./middleware.ts";
import type { OnError } from "./on-error.ts";
import type { WebLimits, WebOptions } from "../transport/index.ts";

type OfGateway = Omit<GatewayOptions, "source" | "info" | "instructions">;
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
  /** Hears what handlers threw that was no refusal, with the run's id; the server's `log` has its name already. */
  readonly onError?: OnError;
  /** A handler is aborted after this long. Default 60,000. */
  readonly handlerMs?: number;
  /** Of `fetch` and `node`; `listen` has its own. */
  readonly webLimits?: Partial<WebLimits>;
}
