/**
 * The part of `@modelcontextprotocol/client` (2.4) that is used, by shape: only who calls other servers installs it.
 * Of the official clients it alone speaks to servers of both eras.
 */
import { PacketError } from "./packet-error.ts";

const PACKAGE = "@modelcontextprotocol/client";

export interface McpTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?(message: unknown): void;
  start(): Promise<void>;
  send(message: unknown): Promise<void>;
  close(): Promise<void>;
}

interface StdioTransport extends McpTransport {
  /** Null before its process begins, and once it was closed. */
  readonly pid: number | null;
  /** A readable stream. */
  readonly stderr: object | null;
}

interface HttpTransport extends McpTransport {
  terminateSession(): Promise<void>;
}

interface Told {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface AskOptions {
  /** Milliseconds. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  readonly onprogress?: (told: Told) => void;
}

export interface McpClient {
  /** `prior`: it is known to be of the old era, so that no process is begun to find out. */
  connect(transport: McpTransport, options?: AskOptions & { readonly prior?: { readonly kind: "legacy" } }): Promise<void>;
  getProtocolEra(): string | undefined;
  ping(options?: AskOptions): Promise<unknown>;
  discover(options?: AskOptions): Promise<unknown>;
  callTool(params: { readonly name: string; readonly arguments: Record<string, unknown> }, options?: AskOptions): Promise<unknown>;
  listTools(params?: undefined, options?: AskOptions): Promise<unknown>;
  close(): Promise<void>;
}

interface StdioOptions {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
  readonly cwd?: string;
  readonly stderr: "pipe";
  /** Bytes of one message. */
  readonly maxBufferSize: number;
}

export interface HttpOptions {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  readonly requestInit: { readonly headers: Record<string, string> };
  readonly reconnectionScheduler: (reconnect: () => void, delayMs: number) => () => void;
}

export interface McpLibrary {
  /** `probeMs`: how long a process may be silent before it is taken for one of the old era. */
  client(probeMs: number): McpClient;
  stdio(options: StdioOptions): StdioTransport;
  http(url: URL, options: HttpOptions): HttpTransport;
  /** What a child inherits unless told otherwise. */
  readonly inherited: readonly string[];
}

/** Throws `PacketError` (`execution_failed`) where it is not installed. */
export async function mcpLibrary(): Promise<McpLibrary> {
  const [main, stdio] = await Promise.all([import("@modelcontextprotocol/client"), import("@modelcontextprotocol/client/stdio")]).catch(
    (cause: unknown) => {
      throw new PacketError(
        "execution_failed",
        `To call tools of other servers, Troupe needs ${PACKAGE}: run "npm install ${PACKAGE}@2" beside it.`,
        {},
        { cause },
      );
    },
  );
  return {
    inherited: stdio.DEFAULT_INHERITED_ENV_VARS,
    client: (probeMs) =>
      new main.Client(
        { name: "troupe", version: "1.0.0" },
        {
          versionNegotiation: { mode: "auto", probe: { timeoutMs: probeMs } },
          // Nobody is there who could be asked.
          inputRequired: { autoFulfill: false },
          // A schema from outside is not compiled: its patterns could hold up this process for as long as they like.
          // What it would have read is asked for by nobody.
          jsonSchemaValidator: { getValidator: () => () => ({ valid: true, data: JSON.parse("null"), errorMessage: undefined }) },
        },
      ),
    stdio: (options) => new stdio.StdioClientTransport(options),
    http: (url, options) => new main.StreamableHTTPClientTransport(url, options),
  };
}
