// One change told to all who listen, by a server of ours and by a bare one that writes the same frame to each of its sockets.
import { createServer as bareServer } from "node:http";
import type { Socket } from "node:net";
import { actor } from "troupe/actor";
import { LocalEngine } from "troupe/engine";
import { createGateway } from "troupe/gateway";
import { createServer } from "troupe/server";
import { cast } from "troupe/source";
import { memorySessionStore, memoryStreamStore } from "troupe/store";
import { serveHttp } from "troupe/transport";
import { inUse } from "./clients.ts";
import { exposeGc } from "./heap.ts";

interface Teller {
  readonly port: number;
  tell(frame: string): void;
  tellInSlices?(frame: string): void;
}

/** As many as ours tells in a round of the event loop. */
const SLICE = 128;

const ours = async (): Promise<Teller> => {
  const server = createServer("bench", "1.0.0", { rateLimit: false });
  for (let n = 0; n < 10; n += 1) server.tools.register({ name: `tool_${n}`, description: "Says hello." }, () => "Hello.");
  const { http } = await server.listen({ http: { port: 0 } });
  return {
    port: http.port,
    tell() {
      if (server.tools.has("door")) server.tools.unregister("door");
      else server.tools.register({ name: "door", description: "Comes and goes." }, () => "Open.");
    },
  };
};

const door = actor("door", {
  description: "A door that all see.",
  persistence: "memory",
  initial: () => ({ open: false }),
  tools: {
    open: { description: "Opens it.", enabled: ({ state: { open } }) => !open, run: ({ state }) => void (state.open = true) },
    shut: { description: "Shuts it.", enabled: ({ state: { open } }) => open, run: ({ state }) => void (state.open = false) },
  },
  messages: { turn: { run: ({ state }) => void (state.open = !state.open) } },
});

/** The change is an actor's, and what each may do now follows from its state. */
const world = async (): Promise<Teller> => {
  const engine = await LocalEngine.start({ kinds: [door] });
  const gateway = createGateway({
    source: cast({ engine, kinds: [door] }),
    sessions: memorySessionStore(),
    streams: memoryStreamStore(),
    info: { name: "bench", version: "1.0.0" },
    rateLimit: false,
  });
  const { port } = await serveHttp({ gateway, port: 0 });
  return {
    port,
    tell: () => void engine.call({ to: "door/main", action: "turn", args: null, start: null }),
  };
};

/** Its connections are used as ours were: where a session is begun first, that is answered first. */
const bare = async (held: string): Promise<Teller> => {
  const sockets: Socket[] = [];
  const server = bareServer((request, response) => {
    request.resume();
    request.on("end", () => {
      if (request.method !== held) {
        response.writeHead(200, { "content-length": 2 }).end("{}");
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: "acknowledged"\n\n');
      sockets.push(request.socket);
    });
  });
  await new Promise<void>((resolve) => server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    tell(frame) {
      const bytes = Buffer.from(frame, "latin1");
      for (const socket of sockets) socket.write(bytes);
    },
    tellInSlices(frame) {
      const bytes = Buffer.from(frame, "latin1");
      const slice = (from: number): void => {
        for (const socket of sockets.slice(from, from + SLICE)) socket.write(bytes);
        if (from + SLICE < sockets.length) setImmediate(slice, from + SLICE);
      };
      setImmediate(slice, 0);
    },
  };
};

await exposeGc();
const [, , whose, held = "POST"] = process.argv;
const teller = await (whose === "bare" ? bare(held) : whose === "world" ? world() : ours());

// Not `monitorEventLoopDelay`: from when it is reset on, it leaves out what comes first.
const stall = { last: performance.now(), longest: 0 };
setInterval(() => {
  const now = performance.now();
  stall.longest = Math.max(stall.longest, now - stall.last);
  stall.last = now;
}, 1);
let cpu = process.cpuUsage();

/** When it began. */
const began = (tell: () => void): object => {
  stall.longest = 0;
  cpu = process.cpuUsage();
  const at = Number(process.hrtime.bigint());
  tell();
  return { at };
};

const acts: Readonly<Record<string, (frame: string) => object | Promise<object>>> = {
  port: () => ({ port: teller.port }),
  tell: (frame) => began(() => teller.tell(frame)),
  "tell in slices": (frame) => began(() => teller.tellInSlices?.(frame)),
  /** Since the last change was told. */
  cost() {
    const { user, system } = process.cpuUsage(cpu);
    return { cpuMs: (user + system) / 1_000, stallMs: stall.longest };
  },
  held: async () => ({ bytes: await inUse() }),
};

process.on("message", (message: unknown) => {
  const { act, frame } = Object(message);
  void Promise.resolve(acts[String(act)]?.(String(frame))).then((answer) => process.send?.({ answer }));
});
process.on("disconnect", () => process.exit());
