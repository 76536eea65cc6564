// README: a tools/call over HTTP beside a bare node:http echo that is asked the same.
import { join } from "node:path";
import { apart, Same } from "./answers.ts";
import type { Asked } from "./asked.ts";
import { serve, start } from "./child.ts";
import { temporaryFolder } from "./leftovers.ts";
import { burstsOf, compete, printRates, printTimes } from "./load.ts";
import { ADD, counted, countedModern, legacy, modern, openSession, openSessions } from "./mcp.ts";
import { loadOnItsCore, SERVER_CORE } from "./pin.ts";

const CONNECTIONS = 32;

export const run = async (asked: Asked): Promise<void> => {
  using data = temporaryFolder();
  using _load = loadOnItsCore();
  const folder = (name: string): string => join(data.path, name);
  const servers = await Promise.all([
    start(["bench/echo.ts"], { core: SERVER_CORE }),
    serve("examples/counter", folder("memory")),
    serve("examples/counter", folder("modern")),
    serve("bench/kinds/counter-each.ts", folder("each")),
    serve("examples/counter-disk", folder("hot")),
  ]);
  const [echo, memory, stateless, each, hot] = servers;
  try {
    const port = (server: typeof echo): number => Number(new URL(String(server.ready["http"])).port);
    const call = "tools/call";
    const outcomes = await compete(
      {
        "a bare node:http echo": legacy(echo, [{}], new Same({ content: [{ type: "text", text: "1" }] }), call, ADD),
        "memory, in a session": legacy(memory, [await openSession(port(memory))], counted(), call, ADD),
        "memory, 2026-07-28": modern(stateless, countedModern(), call, ADD),
        "on disk, an actor for each connection": legacy(each, await openSessions(port(each), CONNECTIONS), apart(counted), call, ADD),
        "on disk, one actor for all": legacy(hot, [await openSession(port(hot))], counted(), call, ADD),
      },
      { ...burstsOf(asked), connections: CONNECTIONS },
    );
    printRates("tools/call over HTTP", outcomes);
    const row = (name: string, least: number): void =>
      printTimes(`tools/call over HTTP: ${name}, of the echo`, outcomes[name], outcomes["a bare node:http echo"], least);
    row("memory, in a session", 0.95);
    row("memory, 2026-07-28", 0.9);
    row("on disk, an actor for each connection", 0.75);
    row("on disk, one actor for all", 0.65);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
};
