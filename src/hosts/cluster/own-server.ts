import { createServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from "node:http2";
import { type Clock, TroupeError } from "../../core/contract/index.ts";

const CONNECTIONS = 1_024;
const STREAMS = 8;

interface Guest {
  handle(request: Http2ServerRequest, response: Http2ServerResponse): boolean;
  isPeer(session: ServerHttp2Session): boolean;
}

/** A port for nothing but peers. */
export interface OwnServer extends AsyncDisposable {
  readonly url: string;
  /** Until then every request is answered with 404. */
  serve(guest: Guest): void;
}

export interface OwnServerOptions {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  /** Whoever has connected for so long and is no peer yet has to go. */
  readonly strangerMs: number;
}

/** Throws `BAD_ADDRESS`. */
export async function openServer({ host, port, clock, strangerMs }: OwnServerOptions): Promise<OwnServer> {
  let guest: Guest | undefined;
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer({ settings: { enablePush: false, maxConcurrentStreams: STREAMS } }, (request, response) => {
    if (guest?.handle(request, response) === true) return;
    request.resume();
    response.writeHead(404).end();
  });
  server.maxConnections = CONNECTIONS;
  server.on("session", (session) => {
    sessions.add(session);
    const undo = clock.after(strangerMs, () => {
      if (guest?.isPeer(session) !== true) session.destroy();
    });
    session.once("close", () => {
      undo();
      sessions.delete(session);
    });
  });
  // A session that breaks the protocol is ended by Node: there is nothing to add.
  server.on("sessionError", () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code ?? cause.name;
      reject(new TroupeError("BAD_ADDRESS", `Cannot listen at ${host}:${port} (${why}): choose another host or port.`, { cause }));
    });
    server.listen({ host, port }, resolve);
  });
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    serve(served) {
      guest = served;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}
