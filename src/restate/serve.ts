import { once } from "node:events";
import { createServer, type ServerHttp2Session } from "node:http2";
import type { Behaviour } from "../contract/index.ts";
import type { WorkHost } from "./durable-work.ts";
import type { RestateSdk } from "./sdk.ts";
import { virtualObject, type ObjectOptions } from "./virtual-object.ts";

export interface ServeOptions extends ObjectOptions {
  readonly sdk: RestateSdk;
  readonly kinds: readonly Behaviour[];
  readonly host: WorkHost;
  /** Default: loopback. Whoever reaches this port runs turns: keep it on a private network. */
  readonly address?: string;
  /** Default: a free one. */
  readonly port?: number;
}

/** Where the server finds the actors, until it is disposed of. */
export interface Served extends AsyncDisposable {
  readonly url: string;
}

/** Serves kinds of actors to a Restate server, which must be told of `url` once. */
export async function serveActors({ sdk, kinds, host, keyMs, address = "127.0.0.1", port = 0 }: ServeOptions): Promise<Served> {
  const services = kinds.map((behaviour) => virtualObject(sdk, behaviour, host, { keyMs }));
  const server = createServer(sdk.createEndpointHandler({ services, bidirectional: true, logger: () => {} }));
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  server.listen(port, address);
  await once(server, "listening");
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new TypeError("The endpoint has no port.");
  return {
    url: `http://${address.includes(":") ? `[${address}]` : address}:${bound.port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}
