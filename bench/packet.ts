// README: capabilities: actors of theirs, and capabilities as MCP tools, each beside what the packet protocol's own page has for it.
import { actors } from "./packet-actors.ts";
import { tools } from "./packet-tools.ts";

export const run = async (): Promise<void> => {
  console.log("median (least–most) of rounds; in process, one after the other, actors in memory, no store, no socket");
  await actors();
  await tools();
};
