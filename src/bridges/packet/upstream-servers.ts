// Owns: `foreignServers`: calls to upstream MCP servers, their limits and errors, and reconnecting with backoff.
//   Does not own: one connection (upstream-connection.ts), recording of calls (recorded-calls.ts).
import {
  checkOptions,
  FUNCTION,
  isJsonObject,
  isList,
  type Json,
  type JsonObject,
  type OptionTable,
  TroupeError,
  untilAborted,
} from "../../core/contract/index.ts";
import { counted, getOwn, omitUndefined } from "../../core/contract/internal.ts";
import type { OfferedTool } from "./capability.ts";
import { reasonOf, truncated } from "./error-mapping.ts";
import { type McpClient, type McpRequestOptions, SessionExpired, mcpLibrary } from "./mcp-client.ts";
import { boundedJson } from "./packet-json.ts";
import { PacketError } from "./packet.ts";
import { NO_TIMEOUT_MS, UpstreamConnection, pause } from "./upstream-connection.ts";
import type {
  ForeignCaller,
  ForeignResult,
  ForeignServers,
  ForeignServersOptions,
  HttpServer,
  StdioServer,
  UpstreamLinkOptions,
} from "./upstream-interface.ts";

const OPTIONS: OptionTable<ForeignServersOptions> = {
  servers: true,
  clock: true,
  timeoutMs: true,
  maxBytes: true,
  maxDepth: true,
  maxCalls: true,
  log: FUNCTION,
};

/** Needs `@modelcontextprotocol/client` once a server is called. Throws `BAD_DEFINITION` for an invalid URL. */
export function foreignServers(options: ForeignServersOptions): ForeignServers {
  checkOptions("foreignServers", options, OPTIONS);
  const { clock, timeoutMs = 30_000, maxBytes = 1_048_576, maxDepth = 64, maxCalls = 100 } = options;
  const links = new Map<string, UpstreamLink>();
  for (const [name, server] of Object.entries(options.servers)) {
    if (server.url !== undefined && !/^https?:$/.test(URL.parse(server.url)?.protocol ?? ""))
      throw new TroupeError(
        "BAD_DEFINITION",
        `The tool server ${JSON.stringify(name)} is at no address: give a \`url\` that begins with http:// or https://.`,
      );
    // Checked here, since the client's error for a header that it cannot send quotes the value, and reaches callers. It leaves out space and
    // line feeds around a value, as of one that was read from a file.
    const [header] =
      Object.entries(server.headers ?? {}).find(([, value]) => !/^[\t\n\r ]*[\t\u0020-\u007e\u0080-\u00ff]*[\t\n\r ]*$/.test(value)) ?? [];
    if (header !== undefined)
      throw new TroupeError(
        "BAD_DEFINITION",
        `The tool server ${JSON.stringify(name)} cannot be sent its header ${header}: give it a value on one line, of characters up to U+00FF.`,
      );
    const log = (line: string): void => options.log?.(name, line);
    links.set(name, new UpstreamLink(name, server, { clock, timeoutMs, maxBytes, maxDepth, maxCalls, log }));
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
          const result = await link.request(tool, caller, (client, request) =>
            client.callTool({ name: tool, arguments: { ...args } }, request),
          );
          return resultOf(result, (reason) => link.failed(tool, reason));
        },
        async tools() {
          return toolsOf(await link.request(undefined, caller, (client, request) => client.listTools(undefined, request)));
        },
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function unknownServer(name: string, known: readonly string[]): PacketError {
  const configured = known.length === 0 ? "none" : known.map((one) => JSON.stringify(one)).join(", ");
  return new PacketError("execution_failed", `There is no tool server ${JSON.stringify(name)}. Configured: ${configured}.`, {
    server: name,
    known,
  });
}

function resultOf(result: Json, failed: (reason: string) => PacketError): ForeignResult {
  const object: JsonObject = isJsonObject(result) ? result : {};
  const blocks = getOwn(object, "content");
  const content = isList(blocks) ? blocks : [];
  const text = content.flatMap((block) => (isJsonObject(block) && block["type"] === "text" ? [textOf(block, "text")] : [])).join("\n");
  if (getOwn(object, "isError") === true) throw failed(text === "" ? "it did not say why" : truncated(text));
  const structured = getOwn(object, "structuredContent");
  return { content, text, ...omitUndefined({ structured }) };
}

function toolsOf(list: Json): readonly OfferedTool[] {
  const tools = isJsonObject(list) ? getOwn(list, "tools") : undefined;
  if (!isList(tools)) return [];
  return tools.filter(isJsonObject).map((tool) => {
    const inputSchema = getOwn(tool, "inputSchema");
    return {
      name: textOf(tool, "name"),
      description: textOf(tool, "description"),
      inputSchema: isJsonObject(inputSchema) ? inputSchema : {},
    };
  });
}

function textOf(object: JsonObject, key: string): string {
  const value = getOwn(object, key);
  return typeof value === "string" ? value : "";
}

const MIN_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 10_000;
/** A connection that lasted this long resets the backoff. */
const STABLE_MS = 60_000;

class CallTimeout extends Error {}
class CallerAborted extends Error {}

/** The connection to one server: opened at the first call, and again after it was lost. */
class UpstreamLink {
  readonly #name: string;
  readonly #server: StdioServer | HttpServer;
  readonly #options: UpstreamLinkOptions;
  readonly #closing = new AbortController();
  #opening: Promise<UpstreamConnection> | undefined;
  #connection: UpstreamConnection | undefined;
  /** Whether the server is legacy, once that is known. */
  #isLegacy = false;
  #calls = 0;
  #failures = 0;
  #notBefore = 0;
  #lastFailure: string | undefined;

  constructor(name: string, server: StdioServer | HttpServer, options: UpstreamLinkOptions) {
    this.#name = name;
    this.#server = server;
    this.#options = options;
  }

  /** Throws `PacketError`: `cancelled` if the caller aborted, otherwise `execution_failed`. */
  async request(
    tool: string | undefined,
    caller: ForeignCaller,
    request: (client: McpClient, options: McpRequestOptions) => Promise<unknown>,
  ): Promise<Json> {
    const { clock, timeoutMs, maxCalls } = this.#options;
    if (this.#calls >= maxCalls)
      throw this.failed(tool, `${counted(maxCalls, "call is", "calls are")} under way already: wait until some have ended`);
    const stop = new AbortController();
    const onAbort = (): void => stop.abort(new CallerAborted("the caller has gone"));
    if (caller.signal?.aborted === true) onAbort();
    caller.signal?.addEventListener("abort", onAbort, { once: true });
    const undo = clock.after(timeoutMs, () => stop.abort(new CallTimeout(`no answer within ${timeoutMs} ms`)));
    this.#calls += 1;
    let connection: UpstreamConnection | undefined;
    const options = { timeout: NO_TIMEOUT_MS, signal: stop.signal, ...progressOf(caller) };
    const attempt = async (): Promise<unknown> => {
      connection = await untilAborted(stop.signal, () => this.#connected());
      const { client, signal: ended } = connection;
      try {
        return await untilAborted(ended, () => untilAborted(stop.signal, () => request(client, options)));
      } catch (error) {
        if (error instanceof SessionExpired) connection.sessionExpired(error);
        throw error;
      }
    };
    try {
      const answer = await attempt().catch((error: unknown) => {
        // A request that was refused for its session was not processed, so it is repeated in a new session.
        if (error instanceof SessionExpired) return attempt();
        throw error;
      });
      const found = boundedJson(answer, this.#options);
      if ("tooMuch" in found) throw new Error(`what it answered ${found.tooMuch}`);
      return found.json;
    } catch (thrown) {
      const error: unknown = stop.signal.aborted ? stop.signal.reason : thrown;
      if (error instanceof CallerAborted) throw this.failed(tool, error.message, "cancelled");
      if (error instanceof PacketError) throw error;
      if (!(error instanceof CallTimeout)) throw this.failed(tool, reasonOf(error), "execution_failed", error);
      connection?.probe();
      const why = connection === undefined && this.#lastFailure !== undefined ? ` (it is not connected: ${this.#lastFailure})` : "";
      throw this.failed(tool, `${error.message}${why}`);
    } finally {
      this.#calls -= 1;
      undo();
      caller.signal?.removeEventListener("abort", onAbort);
    }
  }

  failed(
    tool: string | undefined,
    reason: string,
    type: "cancelled" | "execution_failed" = "execution_failed",
    cause?: unknown,
  ): PacketError {
    const what = tool === undefined ? "The list of its tools" : `The tool ${JSON.stringify(tool)}`;
    const details = { server: this.#name, ...omitUndefined({ tool }), reason };
    return new PacketError(type, `${what} of the server ${JSON.stringify(this.#name)} failed: ${reason}`, details, { cause });
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("Troupe's connections to other servers are closed"));
    await this.#connection?.close();
  }

  kill(): void {
    this.#connection?.kill();
  }

  #connected(): Promise<UpstreamConnection> {
    return (this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    }));
  }

  async #open(): Promise<UpstreamConnection> {
    const library = await mcpLibrary();
    await this.#backOff();
    this.#closing.signal.throwIfAborted();
    const { clock } = this.#options;
    const connection = new UpstreamConnection(library, this.#server, this.#options);
    this.#connection = connection;
    let openedAt = Number.POSITIVE_INFINITY;
    connection.signal.addEventListener("abort", () => {
      this.#opening = undefined;
      this.#connection = undefined;
      this.#failures = clock.now() - openedAt >= STABLE_MS ? 1 : this.#failures + 1;
      this.#notBefore = clock.now() + Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** (this.#failures - 1));
      this.#lastFailure = reasonOf(connection.signal.reason);
    });
    const wasLegacy = this.#isLegacy;
    // If this attempt fails, the next one detects the era again: the server may have been upgraded.
    this.#isLegacy = false;
    await connection.open(wasLegacy);
    openedAt = clock.now();
    this.#isLegacy = connection.isLegacy;
    return connection;
  }

  /** Backs off, so that calls do not restart a server that keeps failing. */
  async #backOff(): Promise<void> {
    const { clock } = this.#options;
    const wait = this.#notBefore - clock.now();
    if (wait <= 0) return;
    const { over, undo } = pause(clock, Math.min(wait, MAX_BACKOFF_MS));
    await untilAborted(this.#closing.signal, () => over).finally(undo);
  }
}

function progressOf({ progress }: ForeignCaller): Pick<McpRequestOptions, "onprogress"> {
  if (progress === undefined) return {};
  return {
    onprogress: ({ progress: done, total, message }) => progress(done, total, message === undefined ? undefined : truncated(message)),
  };
}
