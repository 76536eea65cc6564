import { type Closable, type JsonObject, isJsonObject, type Json, TroupeError, isList } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { boundedJson } from "./bounded-json.ts";
import type { ForeignResult, ForeignServer, OfferedTool } from "./capability.ts";
import { ForeignLink } from "./foreign-link.ts";
import type { ForeignCaller, ForeignServersOptions } from "./foreign-options.ts";
import { PacketError } from "./packet-error.ts";
import { memberOf } from "./packet-json.ts";
import { shortened } from "./reason-of.ts";

/** Other MCP servers, each with one connection that all callers share. Disposing ends what was begun. */
export interface ForeignServers extends Closable {
  readonly names: readonly string[];
  /** Connects with its first call. Throws `PacketError` (`execution_failed`) for a name that is not configured. */
  get(name: string, caller?: ForeignCaller): ForeignServer;
}

/** Needs `@modelcontextprotocol/client`, once a server is called. Throws `BAD_DEFINITION` for an address that is none. */
export function foreignServers(options: ForeignServersOptions): ForeignServers {
  const { clock, timeoutMs = 30_000, maxBytes = 1_048_576, maxDepth = 64, maxCalls = 100 } = options;
  const links = new Map<string, ForeignLink>();
  for (const [name, server] of Object.entries(options.servers)) {
    if (server.url !== undefined && !/^https?:$/.test(URL.parse(server.url)?.protocol ?? ""))
      throw new TroupeError(
        "BAD_DEFINITION",
        `The tool server ${JSON.stringify(name)} is at no address: give a \`url\` that begins with http:// or https://.`,
      );
    const log = (line: string): void => options.log?.(name, line);
    links.set(name, new ForeignLink(name, server, { clock, timeoutMs, maxBytes, maxDepth, maxCalls, log }));
  }
  const names = [...links.keys()];
  const killAll = (): void => {
    for (const link of links.values()) link.kill();
  };
  process.on("exit", killAll);
  const close = async (): Promise<void> => {
    await Promise.all([...links.values()].map((link) => link.close()));
    process.off("exit", killAll);
  };
  return {
    names,
    get(name, caller = {}) {
      const link = links.get(name);
      if (link === undefined) throw unknownServer(name, names);
      return {
        async call(tool, args = {}) {
          const checked = boundedJson(args, { maxBytes, maxDepth });
          if ("tooMuch" in checked) throw link.failed(tool, `its arguments: what is passed ${checked.tooMuch}`);
          const result = await link.ask(tool, caller, (client, ask) => client.callTool({ name: tool, arguments: { ...args } }, ask));
          return resultOf(result, (reason) => link.failed(tool, reason));
        },
        async tools() {
          return toolsOf(await link.ask(undefined, caller, (client, ask) => client.listTools(undefined, ask)));
        },
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function unknownServer(name: string, known: readonly string[]): PacketError {
  const there = known.length === 0 ? "none" : known.map((one) => JSON.stringify(one)).join(", ");
  return new PacketError("execution_failed", `There is no tool server ${JSON.stringify(name)}. Configured: ${there}.`, {
    server: name,
    known,
  });
}

function resultOf(result: Json, failed: (reason: string) => PacketError): ForeignResult {
  const bag: JsonObject = isJsonObject(result) ? result : {};
  const blocks = memberOf(bag, "content");
  const content = isList(blocks) ? blocks : [];
  const text = content.flatMap((block) => (isJsonObject(block) && block["type"] === "text" ? [textOf(block, "text")] : [])).join("\n");
  if (memberOf(bag, "isError") === true) throw failed(text === "" ? "it did not say why" : shortened(text));
  const structured = memberOf(bag, "structuredContent");
  return { content, text, ...omitUndefined({ structured }) };
}

function toolsOf(list: Json): readonly OfferedTool[] {
  const tools = isJsonObject(list) ? memberOf(list, "tools") : undefined;
  if (!isList(tools)) return [];
  return tools.filter(isJsonObject).map((tool) => {
    const inputSchema = memberOf(tool, "inputSchema");
    return {
      name: textOf(tool, "name"),
      description: textOf(tool, "description"),
      inputSchema: isJsonObject(inputSchema) ? inputSchema : {},
    };
  });
}

function textOf(bag: JsonObject, key: string): string {
  const value = memberOf(bag, key);
  return typeof value === "string" ? value : "";
}
