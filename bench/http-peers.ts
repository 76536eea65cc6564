// A tools/call over HTTP beside the servers of others with the same counter, each as fast as it can be set.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Asked } from "./asked.ts";
import { Servers, serve } from "./child.ts";
import { temporaryFolder } from "./leftovers.ts";
import { burstsOf, compete, printRates, printTimes } from "./load.ts";
import { ADD, counted, countedBySdk, countedModern, legacy, modern, openSession, portOf } from "./mcp.ts";
import { durableObject, hasWorkerd, installPeers, peer } from "./peers.ts";
import { loadOnItsCore } from "./pin.ts";
import { note } from "./table.ts";

const CALL = "tools/call";
const OBJECT = "a Durable Object of workerd, on disk";

export const run = async (asked: Asked): Promise<void> => {
  await installPeers();
  using data = temporaryFolder();
  using _load = loadOnItsCore();
  await using servers = new Servers();
  const kept = join(data.path, "workerd");
  mkdirSync(kept);
  const memory = await servers.add(serve("examples/counter", join(data.path, "memory")));
  const stateless = await servers.add(serve("examples/counter", join(data.path, "modern")));
  const disk = await servers.add(serve("examples/counter-disk", join(data.path, "disk")));
  const sdk2 = await servers.add(peer("sdk.ts"));
  const sdk1 = await servers.add(peer("sdk-v1.ts"));
  const lite = await servers.add(peer("mcp-lite.ts"));
  const fast = await servers.add(peer("fastmcp.ts"));
  const object = hasWorkerd() ? await servers.add(durableObject(kept)) : undefined;
  if (object === undefined) note("There is no workerd for this machine: nothing is measured beside a Durable Object.");
  const inSession = async (server: typeof memory) => legacy(server, [await openSession(portOf(server))], counted(), CALL, ADD);
  const outcomes = await compete(
    {
      "ours, memory, in a session": await inSession(memory),
      "ours, memory, 2026-07-28": modern(stateless, countedModern(), CALL, ADD),
      "ours, on disk, one actor": await inSession(disk),
      "official SDK v1, in a session": await inSession(sdk1),
      "official SDK v2, 2026-07-28": modern(sdk2, countedBySdk(), CALL, ADD),
      "mcp-lite, no sessions": legacy(lite, [{ "mcp-protocol-version": "2025-06-18" }], counted(), CALL, ADD),
      "FastMCP, in a session": await inSession(fast),
      ...(object === undefined ? {} : { [OBJECT]: legacy(object, [{}], counted(), CALL, ADD) }),
    },
    { ...burstsOf(asked), connections: 32 },
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
