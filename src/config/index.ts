// Owns: the settings of a project in troupe.config.ts, as authors write them. Does not own: how they are found, checked and applied (src/cli).

/** `[host:]port`, or a port at 127.0.0.1. */
export type ConfigAddress = string | number;

/**
 * What `troupe serve` and `troupe dev` accept, by the names of their flags in camel case. Paths are relative to the file. Flags win over the
 * environment (`TROUPE_HTTP`), which wins over this.
 */
export interface TroupeConfig {
  /** What is served: a TypeScript or JavaScript file, a folder with an index, a world (.yaml); `name=path` puts it under a prefix. */
  readonly modules?: string | readonly string[];
  /** Where actors, sessions and history are stored. Default: `.troupe` next to this file. */
  readonly data?: string;
  /** Streamable HTTP. Default 127.0.0.1:3000 where no other transport is given. */
  readonly http?: ConfigAddress;
  /** The deprecated HTTP+SSE transport, next to HTTP. */
  readonly sse?: boolean;
  /** MCP on standard input and output. */
  readonly stdio?: boolean;
  /** Newline-delimited JSON at an address, or at the path of a Unix socket. */
  readonly tcp?: ConfigAddress;
  /** Packets next to HTTP, and with an address by lines over TCP there. */
  readonly packets?: true | ConfigAddress;
  /** A file of capabilities' limits and tool servers. */
  readonly packetConfig?: string;

  /** The server's name for clients. */
  readonly name?: string;
  readonly title?: string;
  readonly serverVersion?: string;
  /** The principal on stdio or a Unix socket; of `troupe dev` also of every caller over HTTP. */
  readonly as?: string;
  /** The scopes of that principal. */
  readonly scope?: readonly string[];
  /** How names of links and prefixes are joined: `desk__queue` or `desk.queue`. */
  readonly names?: "underscores" | "dots";
  readonly lists?: "static" | "dynamic";
  readonly legacyLists?: "static" | "dynamic";
  readonly pageSize?: number;
  readonly receipts?: boolean;

  /** False: takes callers on loopback without authentication, where packets or Theater would refuse them. */
  readonly auth?: false;
  /** A JSON file of API keys: name → SHA-256, or `{ sha256, scopes, claims, expiresAt }`. */
  readonly apiKeys?: string;
  /** A URL or a file of the keys that tokens are signed with. */
  readonly jwks?: string;
  readonly issuer?: string;
  readonly audience?: string;
  readonly tokenType?: string;
  readonly scopesClaim?: string;
  /** Claims of tokens that reach `viewer.claims`. */
  readonly claims?: readonly string[];
  /** The address that clients know this server by, behind a proxy. */
  readonly resource?: string;
  readonly requireScope?: readonly string[];
  readonly allowHost?: readonly string[];
  readonly allowOrigin?: readonly string[];
  /** Listens beyond loopback without tokens. */
  readonly insecure?: boolean;
  /** A web page at `/console` that shows actors, their history and what clients do. Default: of `troupe dev` only. */
  readonly console?: boolean;
  /** Operators may edit states, in the console and with `troupe edit`. Default: in `troupe dev` only. */
  readonly allowEdit?: boolean;
  /** Requests a second for each principal; 0: no limit. */
  readonly rate?: number;
  /** How long a session over HTTP lives without a request: `30d`, `12h`, `90m`. */
  readonly sessionTtl?: string;
  readonly connectionsPerPeer?: number;

  /** A Restate server that runs the actors: `restate://host[:port][?admin=url]`. */
  readonly engine?: string;
  readonly node?: ConfigAddress;
  readonly advertise?: string;
  readonly secretFile?: string;
  readonly identityKey?: readonly string[];

  /** WebAssembly guests, and Theater's tools for operators. */
  readonly theater?: boolean;
  readonly theaterTcp?: ConfigAddress;
  readonly manifests?: string;
  readonly insecureNoAuth?: boolean;

  readonly telemetry?: boolean;
  /** Milliseconds that running calls have after SIGTERM. */
  readonly grace?: number;
  readonly log?: "debug" | "info" | "warn" | "error" | "silent";
  /** Machine-readable output. */
  readonly json?: boolean;
}

/**
 * The settings themselves, checked by the compiler: `export default defineConfig({ modules: "./door.ts" })`.
 *
 * @example
 * ```ts
 * import { defineConfig } from "troupe/config";
 *
 * export default defineConfig({ modules: "actors/index.ts", http: 3000, data: "data" });
 * ```
 */
export function defineConfig(config: TroupeConfig): TroupeConfig {
  return config;
}
