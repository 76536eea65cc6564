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

const serveBare = async (): Promise<string> => {
  const server = createServer(restate.createEndpointHandler({ services: [bare], bidirectional: true, logger: () => undefined }));
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
