// Owns: the official MCP client, loaded when it is needed, and a `fetch` for it that limits what a server sends.
//   Does not own: connections (upstream-connection.ts).
import { reasonOf, truncated } from "./error-mapping.ts";
import { PacketError } from "./packet.ts";

/** Of the official clients, only this one supports servers of both eras. */
const PACKAGE = "@modelcontextprotocol/client";

// The used part of that package (2.4), structurally, since it is an optional dependency.

export interface McpTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?(message: unknown): void;
  start(): Promise<void>;
  send(message: unknown): Promise<void>;
  close(): Promise<void>;
}

interface StdioTransport extends McpTransport {
  /** Null before the process has started, and after it was closed. */
  readonly pid: number | null;
  /** A readable stream. */
  readonly stderr: object | null;
}

interface HttpTransport extends McpTransport {
  terminateSession(): Promise<void>;
}

interface ProgressUpdate {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface McpRequestOptions {
  /** Milliseconds. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  readonly onprogress?: (update: ProgressUpdate) => void;
}

export interface McpClient {
  /** `prior`: the server is known to be legacy, so no extra process is started to find out. */
  connect(transport: McpTransport, options?: McpRequestOptions & { readonly prior?: { readonly kind: "legacy" } }): Promise<void>;
  getProtocolEra(): string | undefined;
  ping(options?: McpRequestOptions): Promise<unknown>;
  discover(options?: McpRequestOptions): Promise<unknown>;
  callTool(params: { readonly name: string; readonly arguments: Record<string, unknown> }, options?: McpRequestOptions): Promise<unknown>;
  listTools(params?: undefined, options?: McpRequestOptions): Promise<unknown>;
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

interface HttpOptions {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  readonly requestInit: { readonly headers: Record<string, string> };
  readonly reconnectionScheduler: (reconnect: () => void, delayMs: number) => () => void;
}

export interface McpLibrary {
  /** `probeMs`: how long a process may stay silent before it is taken for a legacy server. */
  client(probeMs: number): McpClient;
  stdio(options: StdioOptions): StdioTransport;
  http(url: URL, options: HttpOptions): HttpTransport;
  /** Environment variables that the client passes to a process by default. */
  readonly inherited: readonly string[];
}

/** Throws `PacketError` (`execution_failed`) if the package is not installed. */
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
          // There is no user who could answer.
          inputRequired: { autoFulfill: false },
          // Foreign schemas are not compiled: their patterns could block this process. Their output is not used anyway.
          jsonSchemaValidator: { getValidator: () => () => ({ valid: true, data: JSON.parse("null"), errorMessage: undefined }) },
        },
      ),
    stdio: (options) => new stdio.StdioClientTransport(options),
    http: (url, options) => new main.StreamableHTTPClientTransport(url, options),
  };
}

/** The server refused a message because it no longer knows the session. The message was not processed. */
export class SessionExpired extends Error {
  constructor() {
    super("it has forgotten the session");
  }
}

/**
 * A `fetch` for one server. `maxBytes` limits a whole response, or one event of a stream. `onLost` is called with the reason when the
 * session cannot continue: the server is unreachable, no longer knows it, or sends too much. A POST to a session that the server no
 * longer knows throws `SessionExpired`.
 */
export const boundedFetch =
  (maxBytes: number, onLost: (reason: string) => void): HttpOptions["fetch"] =>
  async (url, init) => {
    const isAborted = (): boolean => init?.signal?.aborted === true;
    let response: Response;
    try {
      response = await fetch(url, init);
    } catch (error) {
      if (!isAborted()) onLost(reasonOf(error));
      throw error;
    }
    const { body, status, statusText, headers } = response;
    const isPost = init?.method === "POST";
    const hasSession = new Headers(init?.headers).has("mcp-session-id");
    if (status === 404 && hasSession) {
      const expired = new SessionExpired();
      if (!isPost) onLost(expired.message);
      else {
        await body?.cancel().catch(() => undefined);
        throw expired;
      }
    }
    if (body === null) return response;
    const count = byteCounter(maxBytes, /^text\/event-stream\b/i.test(headers.get("content-type") ?? ""));
    const onError = (error: unknown): void => {
      // A call waits for the response to its POST. A stream opened by GET is reopened by the client instead.
      if (error instanceof MessageTooLarge || (isPost && !isAborted())) onLost(reasonOf(error));
    };
    const answer = new Response(countedBody(body, count, onError), { status, statusText, headers });
    if (status !== 400 || !hasSession || !isPost) return answer;
    const text = await answer.text();
    if (SESSION_ERROR.test(text)) onLost(`it does not take the session any more: ${truncated(text)}`);
    return new Response(text, { status, statusText, headers });
  };

// The official SDK's examples, and servers derived from them, answer 400 instead of 404.
const SESSION_ERROR = /session|not initialized/i;

class MessageTooLarge extends Error {}

/** Counts bytes. Throws if a message exceeds the limit. */
function byteCounter(maxBytes: number, isStream: boolean): (chunk: Uint8Array) => void {
  let bytes = 0;
  let lineBytes = 0;
  return (chunk) => {
    bytes += chunk.length;
    // An event ends with an empty line.
    if (isStream)
      for (const [at, byte] of chunk.entries()) {
        if (byte === NEWLINE) {
          if (lineBytes === 0) bytes = chunk.length - at - 1;
          lineBytes = 0;
        } else if (byte !== RETURN) lineBytes += 1;
      }
    if (bytes > maxBytes) throw new MessageTooLarge(`it sent more than ${maxBytes} bytes as one message`);
  };
}

const NEWLINE = 10;
const RETURN = 13;

function countedBody(
  body: ReadableStream<Uint8Array>,
  count: (chunk: Uint8Array) => void,
  onError: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        count(value);
        controller.enqueue(value);
      } catch (error) {
        onError(error);
        controller.error(error);
        await reader.cancel(error).catch(() => undefined);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
