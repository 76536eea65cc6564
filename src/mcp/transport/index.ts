export {
  type ApiKey,
  type Authenticator,
  type AuthOptions,
  authenticator,
  hashApiKey,
  type KeySource,
  type Refused,
  type TrustedIssuer,
  type Verdict,
  type Verified,
} from "./auth/index.ts";
export { serveHttp } from "./http.ts";
export type { MountRequest, HttpMount, SocketMount } from "../../core/contract/index.ts";
export {
  HTTP_LIMITS,
  type HttpListener,
  type HttpLimits,
  type HttpOptions,
  type WebHandler,
  type WebLimits,
  type WebOptions,
} from "./http-options.ts";
export { connectInMemory, type MemoryClient } from "./memory.ts";
export { serveStdio, type StdioListener, type StdioOptions } from "./stdio.ts";
export { serveTcp, TCP_LIMITS, type TcpListener, type TcpLimits, type TcpOptions } from "./tcp.ts";
export { AUTHORIZATION_KEY } from "./tcp-connection.ts";
export { webHandler } from "./web/web-handler.ts";
