import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { installPinned } from "../install-pinned.ts";

/** What this folder's package.json pins, once it is there. */
export interface Installed {
  /** The server's executable itself: killing a wrapper would leave it running. */
  readonly server: string;
  /** The SDK's module; its types are not known where it is not installed. */
  readonly sdk: unknown;
}

/** Installs this folder's dependencies where they are not there. */
export async function install(): Promise<Installed> {
  const here = import.meta.dirname;
  await installPinned(here);
  const resolve = createRequire(join(here, "package.json")).resolve;
  const server = createRequire(resolve("@restatedev/restate-server/package.json")).resolve(
    `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  );
  const sdk: unknown = await import(pathToFileURL(join(here, "node_modules/@restatedev/restate-sdk/dist/node.js")).href);
  return { server, sdk };
}
