// A deployment that a Restate server calls: with `bare` the counter as a virtual object of the SDK, otherwise the same counter as an actor.
import { once } from "node:events";
import { createServer } from "node:http2";
import { argv } from "node:process";
import * as restate from "@restatedev/restate-sdk";
import { joinCluster } from "troupe/cluster";
import { RestateEngine } from "troupe/restate";
import { plain } from "./kinds/plain.ts";

const [, , what, ingress = ""] = argv;

interface Count {
  readonly count: number;
}

/** The counter without anything else: reads, adds and writes. */
const bare = restate.object({
  name: "bare",
  handlers: {
    add: restate.handlers.object.exclusive(
      { journalRetention: 0 },
      async (context: restate.ObjectContext, args: { readonly by?: number }): Promise<Count> => {
        const state = (await context.get<Count>("state")) ?? { count: 0 };
        const next: Count = { count: state.count + (args.by ?? 1) };
        context.set("state", next);
        return next;
      },
    ),
  },
});

/** As much as an actor stores of its events: the newest in its own state, older ones in blocks, the rest in another object. */
const EVENTS = 8;
const BLOCKS = 4;
/** As long as the other columns of an actor. */
const ROW = "row ".repeat(140);
const REPLY = "s".repeat(130);

interface Laden extends Count {
  readonly head: string;
  readonly row: string;
  readonly blocks: number;
  readonly lines: readonly string[];
}

/** The same counter, which stores as much data as an actor does. */
const laden = restate.object({
  name: "laden",
  handlers: {
    add: restate.handlers.object.exclusive(
      { journalRetention: 0 },
      async (context: restate.ObjectContext, { by, line }: { readonly by: number; readonly line: string }) => {
        const state = (await context.get<Laden>("actor")) ?? { count: 0, blocks: 0, lines: [] };
        const count = state.count + by;
        let { blocks, lines } = state;
        if (lines.length === EVENTS) {
          if (blocks === BLOCKS) {
            const leaving: unknown[] = [];
            for (let n = 0; n < BLOCKS; n += 1) leaving.push(await context.get(`block/${n}`));
            context.objectSendClient(away, context.key).put(leaving);
            for (let n = 1; n < BLOCKS; n += 1) context.clear(`block/${n}`);
            blocks = 0;
          }
          context.set(`block/${blocks}`, { row: ROW.slice(0, 250), lines });
          blocks += 1;
          lines = [];
        }
        const next: Laden = { count, head: line.slice(0, 64), row: ROW, blocks, lines: [...lines, line] };
        context.set("actor", next);
        return { count, reply: REPLY };
      },
    ),
  },
});

const away = restate.object({
  name: "away",
  handlers: {
    put: restate.handlers.object.exclusive(
      { journalRetention: 0, enableLazyState: true },
      async (context: restate.ObjectContext, leaving: readonly unknown[]): Promise<void> => context.set("newest", leaving),
    ),
  },
});

const serveBare = async (): Promise<string> => {
  const server = createServer(
    restate.createEndpointHandler({ services: [bare, laden, away], bidirectional: true, logger: () => undefined }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It has no port.");
  return `http://127.0.0.1:${address.port}`;
};

const serveActors = async (): Promise<string> => {
  const engine = await RestateEngine.start({ ingress, sdk: restate, kinds: [plain("disk")] });
  const members = engine.members();
  const join = async (): Promise<void> => {
    const peers = await joinCluster({ secret: Buffer.alloc(32, "bench"), url: engine.url, members });
    engine.join(peers, (request, response) => peers.handle(request, response));
    console.log(JSON.stringify({ joined: peers.self }));
  };
  process.on("SIGUSR1", () => void join());
  return engine.url;
};

const url = what === "bare" ? await serveBare() : await serveActors();
console.log(JSON.stringify({ ready: true, url }));
