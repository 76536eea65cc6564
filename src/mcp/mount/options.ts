import type { Bag, Clock, Entropy, Log, Viewer } from "../../core/contract/index.ts";

/**
 * A server of the official SDK, v1 or v2, `McpServer` or the low-level `Server`: whatever connects to a transport. Structural,
 * so that neither version is imported, at run time or by types.
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

export interface McpServerOptions {
  /** Text for the client's model. Default: the server's own. */
  readonly instructions?: string;
  /** What a handler finds as `extra.authInfo` (v2: `ctx.http.authInfo`). Default: `defaultAuthInfo`'s. */
  readonly authInfo?: (viewer: Viewer) => object | undefined;
  /** What the server is told its client can; each call's own client is asked all the same. Default: elicitation, sampling, roots. */
  readonly clientCapabilities?: Bag;
  /** A call that has not ended by then is cancelled, not counting the time its client is asked. Default 60,000. */
  readonly callMs?: number;
  /** A factory's making, connecting, one page of a list, a completion, closing. Default 10,000. */
  readonly listMs?: number;
  /** A call waits so long for what its client was asked. Default 600,000. */
  readonly askMs?: number;
  /** With a factory: a server nobody has called for so long is closed, or, where somebody listens to it, once its place is wanted. Default 1,800,000. */
  readonly idleMs?: number;
  /** With a factory: servers at once; beyond, the idlest goes; where all are called or listened to within `idleMs`, the newcomer is refused. Default 1,000. */
  readonly maxServers?: number;
  /** Calls that wait for their clients at once, per server. Default 1,000. */
  readonly maxAsking?: number;
  /** Entries of one list. Default 10,000. */
  readonly maxListed?: number;
  /** Characters of one message's JSON. Default 4 Mi. */
  readonly maxLength?: number;
  /** What the server logs outside of any call. Default: nobody is told. */
  readonly onLog?: Log;
  /** What the server did that is no MCP, or went wrong behind no call. Default: nobody is told. */
  readonly onFault?: (error: unknown) => void;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
}

/**
 * The viewer as the SDK's `AuthInfo`; undefined: nobody was authenticated. `clientId` is the principal; `token` is empty, since
 * tokens end at the door.
 */
export function defaultAuthInfo({ principal, scopes }: Viewer): object | undefined {
  // A session of a client without a token is no identity.
  if (principal === undefined || principal.startsWith("session|")) return undefined;
  return { token: "", clientId: principal, scopes: [...scopes], extra: { principal } };
}
