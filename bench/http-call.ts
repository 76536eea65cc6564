// A tools/call over HTTP, compared with a bare node:http echo that gets the same requests.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { perConnection, Same } from "./answers.ts";
import type { BenchOptions } from "./options.ts";
import { serve, Servers, start, type Started } from "./server-process.ts";
import { ONE } from "./echo-answer.ts";
import { temporaryFolder } from "./cleanup.ts";
import { burstsOf, compete, printRates, printTimes } from "./load.ts";
import {
  ADD,
  counterReplies,
  modernCounterReplies,
  legacy,
  modern,
  openSession,
  openSessions,
  portOf,
  modernReply,
} from "./mcp-requests.ts";
import { pinLoad, SERVER_CORE } from "./cpu-pinning.ts";

const CALL = "tools/call";
const CONNECTIONS = 32;

const ECHO = "a bare node:http echo";
// The cost of the protocol of 2026-07-28: longer requests and replies.
const ECHO_MODERN = "the same echo, asked and answering as in 2026-07-28";
// The cost of the disk: only the statements, texts and hashes of a turn between request and reply.
const ECHO_EACH = "an echo that writes the same rows, an actor for each connection";
const ECHO_HOT = "an echo that writes the same rows, one actor for all";

export const run = async (options: BenchOptions): Promise<void> => {
  using data = temporaryFolder();
  using _load = pinLoad();
  await using servers = new Servers();
  const serveModule = (module: string, name: string): Promise<Started> => servers.add(serve(module, join(data.path, name)));
  const one = new Same(ONE);
  const echo = await servers.add(start(["bench/echo.ts"], { core: SERVER_CORE }));
  const echoModern = await servers.add(start(["bench/echo.ts", JSON.stringify(modernReply(1))], { core: SERVER_CORE }));
  const writing = (name: string, actors: number): Promise<Started> => {
    const folder = join(data.path, name);
    mkdirSync(folder);
    return servers.add(start(["bench/echo-disk.ts", folder, String(actors)], { core: SERVER_CORE }));
  };
  const echoEach = await writing("echo-each", CONNECTIONS);
  const echoHot = await writing("echo-hot", 1);
  const memory = await serveModule("examples/counter", "memory");
  const stateless = await serveModule("examples/counter", "modern");
  const each = await serveModule("bench/kinds/counter-each.ts", "each");
  const hot = await serveModule("examples/counter-disk", "hot");
  const outcomes = await compete(
    {
      [ECHO]: legacy(echo, [{}], one, CALL, ADD),
      [ECHO_MODERN]: modern(echoModern, new Same(modernReply(1)), CALL, ADD),
      [ECHO_EACH]: legacy(echoEach, [{}], one, CALL, ADD),
      [ECHO_HOT]: legacy(echoHot, [{}], one, CALL, ADD),
      "memory, in a session": legacy(memory, [await openSession(portOf(memory))], counterReplies(), CALL, ADD),
      "memory, 2026-07-28": modern(stateless, modernCounterReplies(), CALL, ADD),
      "on disk, an actor for each connection": legacy(
        each,
        await openSessions(portOf(each), CONNECTIONS),
        perConnection(counterReplies),
        CALL,
        ADD,
      ),
      "on disk, one actor for all": legacy(hot, [await openSession(portOf(hot))], counterReplies(), CALL, ADD),
    },
    { ...burstsOf(options), connections: CONNECTIONS },
  );
  printRates("tools/call over HTTP", outcomes);
  const row = (name: string, least: number, floor?: string): void =>
    printTimes(
      `tools/call over HTTP: ${name}, of the echo`,
      outcomes[name],
      outcomes[ECHO],
      least,
      floor === undefined ? floor : outcomes[floor],
    );
  row("memory, in a session", 0.9);
  row("memory, 2026-07-28", 0.87, ECHO_MODERN);
  row("on disk, an actor for each connection", 0.75, ECHO_EACH);
  row("on disk, one actor for all", 0.65, ECHO_HOT);
};
