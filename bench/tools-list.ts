// README: tools/list of 50 tools, beside a server that sends the same bytes without looking, and the servers of others.
import { type Answers, jsonIn, Same } from "./answers.ts";
import type { Asked } from "./asked.ts";
import { serve, start, type Started } from "./child.ts";
import { temporaryFolder } from "./leftovers.ts";
import { burstsOf, compete, printRates, printTimes, type Shot } from "./load.ts";
import { legacy, modern, openSession, portOf } from "./mcp.ts";
import { loadOnItsCore, SERVER_CORE } from "./pin.ts";

const TOOLS = 50;
const LIST = "tools/list";

/** What this server lists, once it was seen to be fifty tools with schemas of their arguments. */
const listed = async (shot: (answers: Same) => Shot): Promise<Same> => {
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
  return new Same(result);
};

const isTool = (tool: unknown): boolean => {
  const { name, description, inputSchema } = Object(tool);
  return typeof name === "string" && typeof description === "string" && Object(inputSchema)["type"] === "object";
};

export const run = async (how: Asked): Promise<void> => {
  using data = temporaryFolder();
  using _load = loadOnItsCore();
  const servers: Started[] = [];
  const started = async (starting: Promise<Started>): Promise<Started> => {
    const server = await starting;
    servers.push(server);
    return server;
  };
  try {
    const troupe = await started(serve("bench/kinds/fifty.ts", data.path));
    const session = await openSession(portOf(troupe));
    const inSession = (answers: Same): Shot => legacy(troupe, [session], answers, LIST);
    const stateless = (answers: Same): Shot => modern(troupe, answers, LIST);
    const same = await listed(inSession);
    const bytes = JSON.stringify({ jsonrpc: "2.0", id: 0, result: same.result });
    const constant = await started(start(["bench/constant.ts", bytes], { core: SERVER_CORE }));
    const asked = legacy(constant, [{}], same, LIST);
    // It knows no other id.
    const first: Answers = { good: (body) => same.good(body, 0), flaw: () => undefined };
    const BARE = "a constant Buffer of node:http";
    const outcomes = await compete(
      {
        [BARE]: { ...asked, text: () => asked.text(0), answers: first },
        "in a session": inSession(same),
        "2026-07-28": stateless(await listed(stateless)),
      },
      { ...burstsOf(how), connections: 16 },
    );
    printRates(`tools/list of ${TOOLS}`, outcomes);
    for (const name of ["in a session", "2026-07-28"])
      printTimes(`tools/list of ${TOOLS}: ${name}, of the constant Buffer`, outcomes[name], outcomes[BARE], 0.95);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
};
