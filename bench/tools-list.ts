// Tools/list of 50 tools, beside a server that sends the same bytes without looking, and the servers of others.
import { type Answers, jsonIn, Same } from "./answers.ts";
import type { Asked } from "./asked.ts";
import { serve, Servers, start, type Started } from "./child.ts";
import { temporaryFolder } from "./leftovers.ts";
import { burstsOf, compete, printRates, printTimes, type Shot } from "./load.ts";
import { type Headers, legacy, modern, openSession, portOf } from "./mcp.ts";
import { installPeers, peer } from "./peers.ts";
import { loadOnItsCore, SERVER_CORE } from "./pin.ts";
import { note } from "./table.ts";

const TOOLS = 50;
const LIST = "tools/list";

/** To be asked for what this server lists, once it was seen to be fifty tools with schemas of their arguments. */
const looked = async (shot: (answers: Same) => Shot): Promise<Shot & { readonly answers: Same }> => {
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

const inSession = async (server: Started, session?: Headers): ReturnType<typeof looked> => {
  const headers = session ?? (await openSession(portOf(server)));
  return looked((answers) => legacy(server, [headers], answers, LIST));
};

const ofOthers = async (servers: Servers): Promise<Readonly<Record<string, Shot>>> => {
  const sdk2 = await servers.add(peer("sdk.ts", TOOLS));
  const lite = await servers.add(peer("mcp-lite.ts", TOOLS));
  const fast = await servers.add(peer("fastmcp.ts", TOOLS));
  return {
    "official SDK v2, 2026-07-28": await looked((answers) => modern(sdk2, answers, LIST)),
    "mcp-lite, no sessions": await inSession(lite, { "mcp-protocol-version": "2025-06-18" }),
    "FastMCP, in a session": await inSession(fast),
  };
};

const BARE = "a constant Buffer of node:http";
const FLOOR = "the floor";

export const run = async (asked: Asked): Promise<void> => {
  const others = !asked.quick;
  if (others) await installPeers();
  else note("The servers of others are left out, since it was to be quick.");
  using data = temporaryFolder();
  using _load = loadOnItsCore();
  await using servers = new Servers();
  const troupe = await servers.add(serve("bench/kinds/fifty.ts", data.path));
  const session = await openSession(portOf(troupe));
  const ours = await inSession(troupe, session);
  const result = JSON.stringify(ours.answers.result);
  const constant = await servers.add(start(["bench/constant.ts", `{"jsonrpc":"2.0","id":0,"result":${result}}`], { core: SERVER_CORE }));
  const least = await servers.add(start(["bench/list-floor.ts", result, session["mcp-session-id"] ?? ""], { core: SERVER_CORE }));
  const bare = legacy(constant, [{}], ours.answers, LIST);
  // It knows no other id.
  const first: Answers = { good: (body) => ours.answers.good(body, 0), flaw: () => undefined };
  const outcomes = await compete(
    {
      [BARE]: { ...bare, text: () => bare.text(0), answers: first },
      [FLOOR]: await inSession(least, session),
      "in a session": ours,
      "2026-07-28": await looked((answers) => modern(troupe, answers, LIST)),
      ...(others ? await ofOthers(servers) : {}),
    },
    { ...burstsOf(asked), connections: 16 },
  );
  const what = `tools/list of ${TOOLS}`;
  printRates(what, outcomes);
  for (const name of ["in a session", "2026-07-28"])
    printTimes(`${what}: ${name}, of the constant Buffer`, outcomes[name], outcomes[BARE], 0.95);
  // What reads the request at all cannot be as fast as what does not.
  printTimes(`${what}: ${FLOOR}, of the constant Buffer`, outcomes[FLOOR], outcomes[BARE]);
  if (!others) return;
  const beside = (name: string, theirs: string): void => printTimes(`${what}: ${name}, beside ${theirs}`, outcomes[name], outcomes[theirs]);
  beside("2026-07-28", "official SDK v2, 2026-07-28");
  beside("in a session", "mcp-lite, no sessions");
  beside("in a session", "FastMCP, in a session");
};
