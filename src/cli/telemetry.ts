import type { Observer } from "../core/contract/index.ts";
import { flush, isHeard, isOpenTelemetryApi, openTelemetry } from "../hosts/telemetry/index.ts";
import { CommandError, EXIT } from "./exit-code.ts";
import type { ServerLog } from "./log.ts";
import { optionalPackage } from "./optional-package.ts";

const PACKAGE = "@opentelemetry/api";
/** A collector that is away must not hold up a server that was told to stop. */
const FLUSH_MS = 2_000;

export interface Telemetry {
  readonly observer: Observer;
  /** The last spans go out, if they go soon. */
  readonly flush: () => Promise<void>;
}

/** Of `--telemetry`. Throws a `CommandError` where there is no API to tell anything to; where nobody listens to it, the log says so. */
export const telemetry = async (log: ServerLog): Promise<Telemetry> => {
  const found = await optionalPackage(PACKAGE);
  if (found === undefined)
    throw new CommandError(
      EXIT.failed,
      "TELEMETRY_MISSING",
      `--telemetry needs ${PACKAGE} and an SDK: run "npm install ${PACKAGE} @opentelemetry/sdk-node" here, and start Node with the SDK (docs/guide/telemetry.md).`,
    );
  if (!isOpenTelemetryApi(found.loaded))
    throw new CommandError(
      EXIT.failed,
      "TELEMETRY_VERSION",
      `${found.path} is another version of ${PACKAGE} than this Troupe knows: install 1.x.`,
    );
  const api = found.loaded;
  if (!isHeard(api))
    log("warn", "telemetry-unheard", {
      what: "No OpenTelemetry SDK has been set up: start Node with one (--import), or leave --telemetry away.",
    });
  return { observer: openTelemetry(api), flush: () => Promise.race([flush(api), late()]) };
};

const late = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, FLUSH_MS));
