import { type AgenticService, fromAgenticService, isAgenticService } from "../agentic/index.ts";
import type { Channel, Log, Source } from "../../core/contract/index.ts";
import { createGateway, type ServerInfo } from "../../mcp/gateway/index.ts";
import type { MessageTransport } from "./message-transport.ts";

export interface EmbedOptions {
  /** To one client; `serve` starts it. For several clients, serve a source several times. */
  readonly transport: MessageTransport;
  /** How the server names itself. Default: `embedded`, version 0.0.0. */
  readonly info?: ServerInfo;
  readonly instructions?: string;
  /** Who the client is to the source. Default `local`. */
  readonly principal?: string;
  /** Codes, ids and sizes; never arguments or state. */
  readonly log?: Log;
}

export interface Embedded extends AsyncDisposable {
  /** Settles when the client has gone or `close` was called, and the service was let go. */
  readonly closed: Promise<void>;
  /** Takes no request any more; those running get `graceMs` (default 5 s). Then ends the connection, and lets go of the service. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const GRACE_MS = 5_000;

/**
 * Serves an AgenticService, or any source, to a client inside the same application: no engine, no command line, no disk;
 * in browsers too. Given a service, it is listened to until the connection ends; a source stays its owner's.
 */
export async function serve(served: AgenticService | Source, options: EmbedOptions): Promise<Embedded> {
  const { transport, info = { name: "embedded", version: "0.0.0" }, instructions, principal = "local", log } = options;
  const { source, release } = sourceOf(served);
  const gateway = createGateway({
    source,
    info,
    // The application calls itself: nobody floods it from outside.
    rateLimit: false,
    posture: { modern: "dynamic" },
    ...(instructions === undefined ? {} : { instructions }),
    ...(log === undefined ? {} : { log }),
  });
  const gone = new AbortController();
  const channel: Channel = {
    ready: true,
    gone: gone.signal,
    onReady: () => () => undefined,
    send(text) {
      const message: object = JSON.parse(text);
      // A transport may throw at once, or later: either way its client hears nothing more.
      const sent = async (): Promise<void> => transport.send(message);
      sent().catch(lost);
    },
    close: lost,
  };
  const connection = gateway.connect(channel, { principal, scopes: [] });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let closing: Promise<void> | undefined;
  const end = async (graceMs: number): Promise<void> => {
    // What an action does cannot be called off, and may never end: nobody waits for it longer than this.
    await gateway.drain(graceMs);
    await connection.close();
    gone.abort();
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
  // Nobody reads the replies of what runs.
  function lost(): void {
    gone.abort();
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

// A port hands over what JSON cannot hold, too: that is answered as what cannot be read.
function textOf(message: unknown): string {
  try {
    return JSON.stringify(message) ?? "null";
  } catch {
    return "{";
  }
}
