import { join } from "node:path";
import { installPinned } from "../install-pinned.ts";

/** The programs this folder's package.json pins, to be run by Node. */
export interface ToolServers {
  readonly everything: string;
  readonly memory: string;
}

/** Installs this folder's dependencies where they are not there. */
export async function install(): Promise<ToolServers> {
  const here = import.meta.dirname;
  await installPinned(here);
  const program = (name: string): string => join(here, "node_modules/@modelcontextprotocol", name, "dist/index.js");
  return { everything: program("server-everything"), memory: program("server-memory") };
}
