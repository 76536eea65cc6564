import { join } from "node:path";
import type { Grants } from "../manifest.ts";
import type { Circumstances } from "./call-host.ts";
import type { Directory } from "./filesystem.ts";

/** The one its manifest names, else one of its own: another life, of another component perhaps, has another. */
export function directoryOf({ options, life }: Circumstances, { path, write }: NonNullable<Grants["filesystem"]>): Directory {
  const maxBytes = options.limits.hostBytes;
  if (path !== undefined) return { root: path, write, maxBytes };
  if (options.directory === undefined)
    throw new Error("There are no files for guests here: name a directory in the manifest, or start Troupe with one for them.");
  return { root: join(options.directory, life), write, maxBytes };
}
