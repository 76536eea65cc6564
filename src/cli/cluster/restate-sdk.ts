import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isRestateSdk, type RestateSdk } from "../../restate/index.ts";
import { CommandError, EXIT } from "../exit-code.ts";

const PACKAGE = "@restatedev/restate-sdk";

/** The SDK of the project in `directory`, else of Troupe's own installation: only who runs on Restate needs it. */
export const restateSdk = async (directory = process.cwd()): Promise<RestateSdk> => {
  for (const from of [join(directory, "package.json"), import.meta.url]) {
    const path = resolved(from);
    if (path === undefined) continue;
    const loaded: unknown = await import(pathToFileURL(path).href);
    if (isRestateSdk(loaded)) return loaded;
    throw new CommandError(EXIT.failed, "SDK_VERSION", `${path} is another version of ${PACKAGE} than this Troupe knows: install 1.17.`);
  }
  throw new CommandError(EXIT.failed, "SDK_MISSING", `Actors on Restate need ${PACKAGE}: run "npm install ${PACKAGE}@1.17" here.`);
};

const resolved = (from: string): string | undefined => {
  try {
    return createRequire(from).resolve(PACKAGE);
  } catch {
    return undefined;
  }
};
