// A tools/call over HTTP, compared with other MCP servers with the same counter, each in its fastest configuration.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BenchOptions } from "./options.ts";
import { Servers, serve } from "./server-process.ts";
import { temporaryFolder } from "./cleanup.ts";
import { burstsOf, compete, printRates, printTimes } from "./load.ts";
import { ADD, counterReplies, sdkCounterReplies, modernCounterReplies, legacy, modern, openSession, portOf } from "./mcp-requests.ts";
import { durableObject, hasWorkerd, installPeers, peer } from "./peers.ts";
import { pinLoad } from "./cpu-pinning.ts";
import { note } from "./table.ts";

const CALL = "tools/call";
const OBJECT = "a Durable Object of workerd, on disk";

export const run = async (options: BenchOptions): Promise<void> => {
  await installPeers();
  using data = temporaryFolder();
  using _load = pinLoad();
  await using servers = new Servers();
  const objectData = join(data.path, "workerd");
  mkdirSync(objectData);
  const memory = await servers.add(serve("examples/counter", join(data.path, "memory")));
  const stateless = await servers.add(serve("examples/counter", join(data.path, "modern")));
  const disk = await servers.add(serve("examples/counter-disk", join(data.path, "disk")));
  const sdk2 = await servers.add(peer("sdk.ts"));
  const sdk1 = await servers.add(peer("sdk-v1.ts"));
  const lite = await servers.add(peer("mcp-lite.ts"));
  const fast = await servers.add(peer("fastmcp.ts"));
  const object = hasWorkerd() ? await servers.add(durableObject(objectData)) : undefined;
  if (object === undefined) note("There is no workerd for this machine: there is no comparison with a Durable Object.");
  const inSession = async (server: typeof memory) => legacy(server, [await openSession(portOf(server))], counterReplies(), CALL, ADD);
  const outcomes = await compete(
    {
      "ours, memory, in a session": await inSession(memory),
      "ours, memory, 2026-07-28": modern(stateless, modernCounterReplies(), CALL, ADD),
      "ours, on disk, one actor": await inSession(disk),
      "official SDK v1, in a session": await inSession(sdk1),
      "official SDK v2, 2026-07-28": modern(sdk2, sdkCounterReplies(), CALL, ADD),
      "mcp-lite, no sessions": legacy(lite, [{ "mcp-protocol-version": "2025-06-18" }], counterReplies(), CALL, ADD),
      "FastMCP, in a session": await inSession(fast),
      ...(object === undefined ? {} : { [OBJECT]: legacy(object, [{}], counterReplies(), CALL, ADD) }),
    },
    { ...burstsOf(options), connections: 32 },
  );
  printRates("tools/call over HTTP", outcomes);
  const row = (ours: string, theirs: string): void =>
    printTimes(`tools/call over HTTP: ${ours}, beside ${theirs}`, outcomes[`ours, ${ours}`], outcomes[theirs]);
  row("memory, in a session", "official SDK v1, in a session");
  row("memory, 2026-07-28", "official SDK v2, 2026-07-28");
  row("memory, in a session", "mcp-lite, no sessions");
  row("memory, in a session", "FastMCP, in a session");
  if (object !== undefined) row("on disk, one actor", OBJECT);
};
