import type { ConfigSection, Named } from "./config-section.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { HttpServer, StdioServer } from "./foreign-options.ts";

const MOST_SERVERS = 100;
const MOST_ARGUMENTS = 1_000;
const LONG = 32_768;
const ADDRESS = 8_192;

const NAMES = /^[A-Za-z0-9@][A-Za-z0-9@/._-]{0,63}$/;
const VARIABLES: Named = {
  pattern: /^[A-Za-z_][A-Za-z0-9_]{0,254}$/,
  sentence: "Is no name of a variable: letters, digits and _, no digit first.",
  maxChars: LONG,
  anyLines: true,
};
const HEADERS: Named = { pattern: /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,255}$/, sentence: "Is no name of a header.", maxChars: ADDRESS };

/** `mcp.servers`: each by its name, a process or an address. */
export function readServers(section: ConfigSection): Readonly<Record<string, StdioServer | HttpServer>> {
  if (section.keys.length > MOST_SERVERS) section.wrong("…", `There may be ${MOST_SERVERS} tool servers.`);
  return Object.fromEntries(
    section.keys.slice(0, MOST_SERVERS).flatMap((name) => {
      if (!NAMES.test(name)) section.wrong(name, "Is no name of a tool server: letters, digits, @, /, ., _ and -, 64 in all.");
      const server = section.section(name);
      const read = server && readServer(section, name, server);
      return read === undefined ? [] : [[name, read] as const];
    }),
  );
}

function readServer(all: ConfigSection, name: string, server: ConfigSection): StdioServer | HttpServer | undefined {
  const [isProcess, isAddress] = [server.has("command"), server.has("url")];
  if (isProcess && isAddress) return all.wrong(name, "Has command and url: keep the one by which the server is reached.");
  if (isProcess) return readProcess(server);
  if (isAddress) return readAddress(server);
  server.only("command", "args", "env", "cwd", "url", "headers");
  return all.wrong(name, "Must have command, the executable that speaks MCP on its standard input and output, or url, the address of one.");
}

function readProcess(server: ConfigSection): StdioServer | undefined {
  server.only("command", "args", "env", "cwd");
  const command = server.optionalText("command", LONG);
  const args = server.texts("args", MOST_ARGUMENTS, LONG);
  const env = server.textsByName("env", VARIABLES);
  const cwd = server.optionalText("cwd", LONG);
  if (command === undefined) return undefined;
  return { command, ...(args && { args }), ...(env && { env }), ...omitUndefined({ cwd }) };
}

function readAddress(server: ConfigSection): HttpServer | undefined {
  server.only("url", "headers");
  const url = server.optionalText("url", ADDRESS);
  const headers = server.textsByName("headers", HEADERS);
  if (url === undefined) return undefined;
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.username !== "" || parsed.password !== "")
    return server.wrong(
      "url",
      "Must be an address that begins with http:// or https://, without a name and password in it: send those as headers.",
    );
  return { url, ...(headers && { headers }) };
}
