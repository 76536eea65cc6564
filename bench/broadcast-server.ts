// The servers of broadcast.ts: ours, and a bare one that writes the same frame to each of its sockets.
import { createServer as bareServer } from "node:http";
import type { Socket } from "node:net";
import { actor } from "troupe/actor";
import { LocalEngine } from "troupe/engine";
import { createGateway } from "troupe/gateway";
import { createServer } from "troupe/server";
import { cast } from "troupe/source";
import { memorySessionStore, memoryStreamStore } from "troupe/store";
import { serveHttp } from "troupe/transport";
import { inUse } from "./idle-client-process.ts";
import { exposeGc } from "./heap-size.ts";

interface Notifier {
  readonly port: number;
  notify(frame: string): void;
  notifyInSlices?(frame: string): void;
}

/** The number of subscribers that ours notifies in one iteration of the event loop. */
const SLICE = 128;

const ours = async (): Promise<Notifier> => {
  const server = createServer("bench", "1.0.0", { rateLimit: false });
  for (let n = 0; n < 10; n += 1) server.tools.register({ name: `tool_${n}`, description: "Says hello." }, () => "Hello.");
  const { http } = await server.listen({ http: { port: 0 } });
  return {
    port: http.port,
    notify() {
      if (server.tools.has("door")) server.tools.unregister("door");
      else server.tools.register({ name: "door", description: "Comes and goes." }, () => "Open.");
    },
  };
};

const door = actor("door", {
  description: "A shared door.",
  persistence: "memory",
  initial: () => ({ open: false }),
  tools: {
    open: { description: "Opens it.", enabled: ({ state: { open } }) => !open, run: ({ state }) => void (state.open = true) },
    shut: { description: "Shuts it.", enabled: ({ state: { open } }) => open, run: ({ state }) => void (state.open = false) },
  },
  messages: { turn: { run: ({ state }) => void (state.open = !state.open) } },
});

/** An actor changes its state, and with it the tools of all sessions. */
const world = async (): Promise<Notifier> => {
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
    notify: () => void engine.call({ to: "door/main", action: "turn", args: null, start: null }),
  };
};

/** Answers the requests that open a session first, so that connections are used like those of ours. */
const bare = async (held: string): Promise<Notifier> => {
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
    notify(frame) {
      const bytes = Buffer.from(frame, "latin1");
      for (const socket of sockets) socket.write(bytes);
    },
    notifyInSlices(frame) {
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
const notifier = await (whose === "bare" ? bare(held) : whose === "world" ? world() : ours());

// Not `monitorEventLoopDelay`: it misses the first delay after a reset.
const stall = { last: performance.now(), longest: 0 };
setInterval(() => {
  const now = performance.now();
  stall.longest = Math.max(stall.longest, now - stall.last);
  stall.last = now;
}, 1);
let cpu = process.cpuUsage();

/** Returns the start time. Resets the measurements. */
const timed = (notify: () => void): object => {
  stall.longest = 0;
  cpu = process.cpuUsage();
  const at = Number(process.hrtime.bigint());
  notify();
  return { at };
};

const acts: Readonly<Record<string, (frame: string) => object | Promise<object>>> = {
  port: () => ({ port: notifier.port }),
  notify: (frame) => timed(() => notifier.notify(frame)),
  "notify in slices": (frame) => timed(() => notifier.notifyInSlices?.(frame)),
  /** Processor time and longest stall since the last change. */
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
