// Actors of capabilities, and capabilities as MCP tools, with the limits of the packet protocol's specification. In process and in
// sequence, with actors in memory: no store, no socket.
import type { BenchOptions } from "./options.ts";
import { actors } from "./packet-actors.ts";
import { tools } from "./packet-tools.ts";

export const run = async (options: BenchOptions): Promise<void> => {
  await actors(options);
  await tools(options);
};
