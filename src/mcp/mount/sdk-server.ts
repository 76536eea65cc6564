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
