// Owns: the types of the official SDK that are used here, and the options of a mounted server.
import { type Clock, type Entropy, isSignedIn, type JsonObject, type Log, type Viewer } from "../../core/contract/index.ts";

/**
 * A server of the official SDK, v1 or v2, `McpServer` or the low-level `Server`: anything that connects to a transport. Structural, so
 * that neither version is imported, not even for types.
 */
export interface SdkServer {
  connect(transport: SdkTransport): Promise<void>;
  close(): Promise<void>;
}

/** The SDK's `Transport`, as far as a server uses it. */
export interface SdkTransport {
  start(): Promise<void>;
  send(message: object, options?: object): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: object, extra?: object) => void) | undefined;
  sessionId?: string | undefined;
}

/** What `fromMcpServer` takes besides the server. */
export interface McpServerOptions {
  /** Text for the client's model. Default: the server's own. */
  readonly instructions?: string;
  /** Makes the `extra.authInfo` of handlers (v2: `ctx.http.authInfo`). Default: `defaultAuthInfo`. */
  readonly authInfo?: (viewer: Viewer) => object | undefined;
  /** The client capabilities that the server sees; each call's real client is checked too. Default: elicitation, sampling, roots. */
  readonly clientCapabilities?: JsonObject;
  /** Time limit of a call in milliseconds, without the time in which it waits for its client. Default 55,000, since official clients give a call up after 60,000. */
  readonly callMs?: number;
  /** Time limit in milliseconds for a factory, connecting, one page of a list, a completion, and closing. Default 10,000. */
  readonly listMs?: number;
  /** How long a call waits for its client's answer, in milliseconds. Default 600,000. */
  readonly askMs?: number;
  /** With a factory: a server without calls, waiting ones included, for this many milliseconds is closed; if it has listeners, only to make room. Default 1,800,000. */
  readonly idleMs?: number;
  /** With a factory: the most servers at a time. Beyond that the idlest is closed; if all are in use, new ones are refused. Default 1,000. */
  readonly maxServers?: number;
  /** The most questions of one server to its clients that may be open. Calls of one caller may be half as many. Default 1,000. */
  readonly maxAsking?: number;
  /** The most entries of one list. Default 10,000. */
  readonly maxListed?: number;
  /** The most characters of one message's JSON. Default 4 Mi. */
  readonly maxLength?: number;
  /** Called with what the server logs outside of any call. Default: ignored. */
  readonly onLog?: Log;
  /** Called with violations of MCP, and with errors outside of any call. Default: ignored. */
  readonly onFault?: (error: unknown) => void;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
}

/**
 * The viewer as the SDK's `AuthInfo`; undefined if it was not authenticated. `clientId` is the principal; `token` is empty, since no
 * code behind the transport gets tokens.
 */
export function defaultAuthInfo(viewer: Viewer): object | undefined {
  if (!isSignedIn(viewer)) return undefined;
  const { principal, scopes } = viewer;
  return { token: "", clientId: principal, scopes: [...scopes], extra: { principal } };
}
