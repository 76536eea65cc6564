// Owns: opening and closing the transports of a server. Does not own: the transports.
import {
  type HttpListener,
  type HttpOptions,
  serveHttp,
  serveStdio,
  serveTcp,
  type StdioListener,
  type StdioOptions,
  type TcpListener,
  type TcpOptions,
} from "../transport/index.ts";
import { checkOptions, type Gateway, type OptionTable } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { ServerOptions } from "./options.ts";

/** Where to listen; `true`: the defaults (127.0.0.1, a free port, the standard streams of this process). */
export interface ListenOptions {
  readonly http?: true | Omit<HttpOptions, "gateway">;
  readonly tcp?: true | Omit<TcpOptions, "gateway" | "refusal" | "tokenPlace">;
  readonly stdio?: true | Omit<StdioOptions, "gateway">;
}

const OPTIONS: OptionTable<ListenOptions> = { http: true, tcp: true, stdio: true };

/** What listens: the addresses of each transport, and how to close them. */
export interface ServerListeners {
  readonly http: HttpListener;
  readonly tcp: TcpListener;
  readonly stdio: StdioListener;
}

/** The transports that were requested. */
export type Listening<L extends ListenOptions> = { readonly [K in keyof L & keyof ServerListeners]: ServerListeners[K] };

type Common = Pick<ServerOptions, "path" | "auth" | "allowedHosts" | "allowedOrigins" | "sse" | "clock" | "entropy" | "log">;

/** Opens all of them, or none: if one cannot be opened, the others are closed. */
export async function openListeners(
  wanted: ListenOptions,
  gateway: Gateway,
  server: Common,
  ready: () => boolean | string,
): Promise<Partial<ServerListeners>> {
  checkOptions("listen", wanted, OPTIONS);
  const { path, auth, allowedHosts, allowedOrigins, sse, clock, entropy, log } = server;
  const every = { gateway, ...omitUndefined({ clock, log }) };
  const guarded = { ...every, ...omitUndefined({ auth }) };
  const opened: { -readonly [K in keyof ServerListeners]?: ServerListeners[K] } = {};
  try {
    if (wanted.http !== undefined) {
      const given = wanted.http === true ? {} : wanted.http;
      opened.http = await serveHttp({
        ...guarded,
        ...omitUndefined({ path, allowedHosts, allowedOrigins, sse, entropy }),
        ready,
        ...given,
      });
    }
    if (wanted.tcp !== undefined) opened.tcp = await serveTcp({ ...guarded, ...(wanted.tcp === true ? {} : wanted.tcp) });
    if (wanted.stdio !== undefined) opened.stdio = serveStdio({ ...every, ...(wanted.stdio === true ? {} : wanted.stdio) });
    return opened;
  } catch (error) {
    await Promise.all(closeAll(opened, { graceMs: 0 }));
    throw error;
  }
}

export const closeAll = (listeners: Partial<ServerListeners>, within: { readonly graceMs: number }): readonly Promise<void>[] =>
  [listeners.http, listeners.tcp, listeners.stdio].flatMap((door) => door?.close(within) ?? []);
