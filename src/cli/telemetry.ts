import type { Observer } from "../contract/index.ts";
import { isHeard, isOpenTelemetryApi, openTelemetry } from "../telemetry/index.ts";
import { CommandError, EXIT } from "./exit-code.ts";
import type { ServerLog } from "./log.ts";
import { optionalPackage } from "./optional-package.ts";

const PACKAGE = "@opentelemetry/api";

/** Of `--telemetry`. Throws a `CommandError` where there is no API to tell anything to; where nobody listens to it, the log says so. */
export const telemetry = async (log: ServerLog): Promise<Observer> => {
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
  if (!isHeard(found.loaded))
    log("warn", "telemetry-unheard", {
      what: "No OpenTelemetry SDK has been set up: start Node with one (--import), or leave --telemetry away.",
    });
  return openTelemetry(found.loaded);
};
