// Owns: `serve`: one connection of an application to a service or source inside it. Does not own: transports (message-transport.ts).
import { type AgenticService, fromAgenticService, isAgenticService } from "../agentic/index.ts";
import { type Channel, checkOptions, FUNCTION, type Log, type OptionTable, type Source } from "../../core/contract/index.ts";
import { createGateway, type ServerInfo } from "../../mcp/gateway/index.ts";
import type { MessageTransport } from "./message-transport.ts";

/** What `serve` of `troupe/embed` takes. */
export interface EmbedOptions {
  /** The transport to one client; `serve` starts it. For several clients, serve a source several times. */
  readonly transport: MessageTransport;
  /** Name and version of the server. Default: `embedded`, 0.0.0. */
  readonly info?: ServerInfo;
  readonly instructions?: string;
  /** The principal of the client. Default `local`. */
  readonly principal?: string;
  /** Gets codes, ids and sizes; never arguments or state. */
  readonly log?: Log;
}

/** A running MCP server inside a page or program, for one client. */
export interface Embedded extends AsyncDisposable {
  /** Settles when the client has disconnected or `close` was called, and the service was released. */
  readonly closed: Promise<void>;
  /** Accepts no more requests; running ones get `graceMs` (default 5 s). Then closes the connection and releases the service. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const GRACE_MS = 5_000;

const OPTIONS: OptionTable<EmbedOptions> = { transport: true, info: true, instructions: true, principal: true, log: FUNCTION };

/**
 * Serves an AgenticService, or any source, to a client inside the same application, without engine, command line and disk; in browsers
 * too. A service is observed until the connection ends; a source is not closed.
 */
export async function serve(served: AgenticService | Source, options: EmbedOptions): Promise<Embedded> {
  checkOptions("serve", options, OPTIONS);
  const { transport, info = { name: "embedded", version: "0.0.0" }, instructions, principal = "local", log } = options;
  const { source, release } = sourceOf(served);
  const gateway = createGateway({
    source,
    info,
    // The only client is the application itself.
    rateLimit: false,
    listMode: { modern: "dynamic" },
    ...(instructions === undefined ? {} : { instructions }),
    ...(log === undefined ? {} : { log }),
  });
  const disconnected = new AbortController();
  const channel: Channel = {
    ready: true,
    disconnected: disconnected.signal,
    onReady: () => () => undefined,
    send(text) {
      const message: object = JSON.parse(text);
      // A transport may throw synchronously or reject: either ends the connection.
      const sent = async (): Promise<void> => transport.send(message);
      sent().catch(lost);
    },
    close: lost,
  };
  const connection = gateway.connect(channel, { principal, scopes: [] });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let closing: Promise<void> | undefined;
  const end = async (graceMs: number): Promise<void> => {
    // Actions cannot be cancelled and may never end, so the wait is limited.
    await gateway.drain(graceMs);
    await connection.close();
    disconnected.abort();
    await gateway[Symbol.asyncDispose]();
    release();
    try {
      await transport.close?.();
    } catch (error) {
      log?.("notice", { event: "transport-close-failed", name: error instanceof Error ? error.name : typeof error });
    }
    resolve();
  };
  const close = ({ graceMs = GRACE_MS }: { readonly graceMs?: number } = {}): Promise<void> => (closing ??= end(graceMs));
  // No grace period: the client cannot read replies any more.
  function lost(): void {
    disconnected.abort();
    void close({ graceMs: 0 });
  }

  Object.assign(transport, {
    onmessage: (message: unknown) => connection.receive(textOf(message)),
    onclose: lost,
  } satisfies Partial<MessageTransport>);
  try {
    await transport.start?.();
  } catch (error) {
    await close({ graceMs: 0 });
    throw error;
  }
  return { closed, close, [Symbol.asyncDispose]: () => close() };
}

function sourceOf(served: AgenticService | Source): { readonly source: Source; readonly release: () => void } {
  if (!isAgenticService(served)) return { source: served, release: () => undefined };
  const source = fromAgenticService(served);
  return { source, release: () => source[Symbol.dispose]() };
}

// A port may deliver values that JSON does not have: these are answered as unreadable.
function textOf(message: unknown): string {
  try {
    return JSON.stringify(message) ?? "null";
  } catch {
    return "{";
  }
}
