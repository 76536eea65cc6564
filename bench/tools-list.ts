// tools/list of 50 tools, compared with a server that sends the same bytes unread, and with other MCP servers.
import { type Answers, jsonIn, Same } from "./answers.ts";
import type { BenchOptions } from "./options.ts";
import { serve, Servers, start, type Started } from "./server-process.ts";
import { temporaryFolder } from "./cleanup.ts";
import { burstsOf, compete, printRates, printTimes, type Shot } from "./load.ts";
import { type Headers, legacy, modern, openSession, portOf } from "./mcp-requests.ts";
import { installPeers, peer } from "./peers.ts";
import { pinLoad, SERVER_CORE } from "./cpu-pinning.ts";
import { note } from "./table.ts";

const TOOLS = 50;
const LIST = "tools/list";

/** A request for the list. Checks first that the server lists fifty tools with input schemas, and expects the same list in every reply. */
const checked = async (shot: (answers: Same) => Shot): Promise<Shot & { readonly answers: Same }> => {
  const { port, text } = shot(new Same(undefined));
  const [head = "", body] = text(1).split("\r\n\r\n");
  const headers = head
    .split("\r\n")
    .slice(1)
    .map((line) => line.split(": "))
    .filter(([name = ""]) => !/^(?:host|content-length)$/i.test(name));
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: Object.fromEntries(headers),
    ...(body === undefined ? {} : { body }),
  });
  const { result } = Object(jsonIn(await response.text()));
  const tools: unknown = Object(result)["tools"];
  if (!Array.isArray(tools) || tools.length !== TOOLS || !tools.every(isTool)) throw new Error(`Bad answer: ${JSON.stringify(result)}`);
  const answers = new Same(result);
  return { ...shot(answers), answers };
};

const isTool = (tool: unknown): boolean => {
  const { name, description, inputSchema } = Object(tool);
  return typeof name === "string" && typeof description === "string" && Object(inputSchema)["type"] === "object";
};

const inSession = async (server: Started, session?: Headers): ReturnType<typeof checked> => {
  const headers = session ?? (await openSession(portOf(server)));
  return checked((answers) => legacy(server, [headers], answers, LIST));
};

const otherServers = async (servers: Servers): Promise<Readonly<Record<string, Shot>>> => {
  const sdk2 = await servers.add(peer("sdk.ts", TOOLS));
  const lite = await servers.add(peer("mcp-lite.ts", TOOLS));
  const fast = await servers.add(peer("fastmcp.ts", TOOLS));
  return {
    "official SDK v2, 2026-07-28": await checked((answers) => modern(sdk2, answers, LIST)),
    "mcp-lite, no sessions": await inSession(lite, { "mcp-protocol-version": "2025-06-18" }),
    "FastMCP, in a session": await inSession(fast),
  };
};

const BARE = "a constant Buffer of node:http";
const FLOOR = "the floor";

export const run = async (options: BenchOptions): Promise<void> => {
  const others = !options.quick;
  if (others) await installPeers();
  else note("The servers of others are left out, since it was to be quick.");
  using data = temporaryFolder();
  using _load = pinLoad();
  await using servers = new Servers();
  const troupe = await servers.add(serve("bench/kinds/fifty.ts", data.path));
  const session = await openSession(portOf(troupe));
  const ours = await inSession(troupe, session);
  const result = JSON.stringify(ours.answers.result);
  const constant = await servers.add(
    start(["bench/constant-server.ts", `{"jsonrpc":"2.0","id":0,"result":${result}}`], { core: SERVER_CORE }),
  );
  const least = await servers.add(start(["bench/list-floor.ts", result, session["mcp-session-id"] ?? ""], { core: SERVER_CORE }));
  const bare = legacy(constant, [{}], ours.answers, LIST);
  // It always replies with the id 0.
  const first: Answers = { good: (body) => ours.answers.good(body, 0), flaw: () => undefined };
  const outcomes = await compete(
    {
      [BARE]: { ...bare, text: () => bare.text(0), answers: first },
      [FLOOR]: await inSession(least, session),
      "in a session": ours,
      "2026-07-28": await checked((answers) => modern(troupe, answers, LIST)),
      ...(others ? await otherServers(servers) : {}),
    },
    { ...burstsOf(options), connections: 16 },
  );
  const what = `tools/list of ${TOOLS}`;
  printRates(what, outcomes);
  for (const name of ["in a session", "2026-07-28"])
    printTimes(`${what}: ${name}, of the constant Buffer`, outcomes[name], outcomes[BARE], 0.95);
  // A server that reads the request cannot be as fast as one that does not.
  printTimes(`${what}: ${FLOOR}, of the constant Buffer`, outcomes[FLOOR], outcomes[BARE]);
  if (!others) return;
  const compare = (name: string, theirs: string): void =>
    printTimes(`${what}: ${name}, beside ${theirs}`, outcomes[name], outcomes[theirs]);
  compare("2026-07-28", "official SDK v2, 2026-07-28");
  compare("in a session", "mcp-lite, no sessions");
  compare("in a session", "FastMCP, in a session");
};
