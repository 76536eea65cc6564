import { isRestateSdk, type RestateSdk } from "../../hosts/restate/index.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { optionalPackage } from "../optional-package.ts";

const PACKAGE = "@restatedev/restate-sdk";

/** The SDK of the project here, else of Troupe's own installation: only who runs on Restate needs it. */
export const restateSdk = async (): Promise<RestateSdk> => {
  const found = await optionalPackage(PACKAGE);
  if (found === undefined)
    throw new CommandError(EXIT.failed, "SDK_MISSING", `Actors on Restate need ${PACKAGE}: run "npm install ${PACKAGE}@1.17" here.`);
  if (isRestateSdk(found.loaded)) return found.loaded;
  throw new CommandError(
    EXIT.failed,
    "SDK_VERSION",
    `${found.path} is another version of ${PACKAGE} than this Troupe knows: install 1.17.`,
  );
};
