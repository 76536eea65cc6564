// What a Restate server calls, in a process of its own: `bare` the counter as the SDK alone has it, or the same as an actor.
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

/** Reads, adds, writes: the same state and the same answer, and nothing else. */
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

/** What travels with each of an actor's calls: state keys of which one is written, about 1.3 KB of them, and as long an answer. */
const OLDER = ["block/0", "block/1", "block/2"];
const BLOCK = "b".repeat(260);
const NEWEST = "n".repeat(480);
const SAID = "s".repeat(110);

/** The same counter, which carries as much as an actor does, and makes nothing of it. */
const laden = restate.object({
  name: "laden",
  handlers: {
    add: restate.handlers.object.exclusive(
      { journalRetention: 0 },
      async (context: restate.ObjectContext, args: { readonly by?: number }): Promise<Count & { readonly said: string }> => {
        const state = await context.get<Count>("actor");
        if (state === null) for (const key of OLDER) context.set(key, BLOCK);
        const count = (state?.count ?? 0) + (args.by ?? 1);
        context.set("actor", { count, newest: NEWEST });
        return { count, said: SAID };
      },
    ),
  },
});

const serveBare = async (): Promise<string> => {
  const server = createServer(restate.createEndpointHandler({ services: [bare, laden], bidirectional: true, logger: () => undefined }));
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
