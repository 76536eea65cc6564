// Capabilities: actors of theirs, and capabilities as MCP tools, each beside what the packet protocol's own page has for
// it. In process, one after the other, actors in memory: no store, no socket.
import type { Asked } from "./asked.ts";
import { actors } from "./packet-actors.ts";
import { tools } from "./packet-tools.ts";

export const run = async (asked: Asked): Promise<void> => {
  await actors(asked);
  await tools(asked);
};
