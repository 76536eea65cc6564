// One process, one engine, one history: a dungeon that is played over MCP, packets, an AgenticService and Theater.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { actorId } from "troupe";
import { fromAgenticService, toAgenticService } from "troupe/agentic";
import { LocalEngine } from "troupe/engine";
import { Capabilities, capabilityOf, PacketFlow, packetEndpoints } from "troupe/packet";
import { createServer } from "troupe/server";
import { cast, prefix } from "troupe/source";
import { sqliteContents, sqliteStore } from "troupe/store";
import { EngineStage, serveTheater, theaterFace } from "troupe/theater";
import { type ApiKey, authenticator, hashApiKey, serveTcp } from "troupe/transport";
import { createGuests } from "troupe/wasm";
import { kinds, signposts, walk } from "./served.ts";

// What `troupe serve examples/all` serves.
export { kinds as default, signposts, walk };

const OPERATOR = "troupe:operate";
const GUESTS = fileURLToPath(new URL("../wasm", import.meta.url));

export interface Options {
  /** The directory of the data. */
  readonly data: string;
  /** The API keys of the users. Operators have the scope `troupe:operate`. */
  readonly keys: readonly ApiKey[];
  /** By default, free ports. */
  readonly ports?: { readonly http: number; readonly packets: number; readonly theater: number };
}

/** Starts the engine, the sources and all transports. Disposing the result stops them. */
export async function start({ data, keys, ports }: Options) {
  mkdirSync(data, { recursive: true });
  await using opened = new AsyncDisposableStack();

  // The actors, and the stores of their data.
  const contents = opened.use(sqliteContents(join(data, "content.db")));
  const store = opened.use(sqliteStore({ directory: data }));
  const guests = opened.use(createGuests({ contents, manifests: GUESTS }));
  const engine = opened.use(await LocalEngine.start({ kinds: [...kinds, guests.kind], store }));
  opened.defer(guests.attach(engine, kinds));

  // Five sources and interfaces of these actors.
  const play = cast({ engine, kinds });
  const flow = opened.use(new PacketFlow({ engine, capabilities: new Capabilities([...kinds.map((kind) => capabilityOf(kind)), walk]) }));
  const hero = opened.use(
    fromAgenticService(
      (viewer) => toAgenticService({ engine, kinds, id: actorId("player", viewer.principal ?? "anonymous"), viewer, start: null }),
      { name: "player" },
    ),
  );
  const stage = opened.use(new EngineStage({ engine, kinds, guests }));
  const theater = opened.use(theaterFace({ stage, requireScope: OPERATOR }));

  // One server.
  const auth = await authenticator({ keys });
  const sources = [play, opened.use(flow.source()), prefix("hero", hero, "dots"), theater, signposts];
  const server = opened.use(createServer("all", "1.0.0", { auth, sources }));
  flow.tunnelTo(server.gateway);

  // The transports.
  const packets = packetEndpoints(flow);
  const { http } = await server.listen({ http: { port: ports?.http ?? 0, endpoints: [packets.http], upgrades: [packets.webSocket] } });
  const packetsTcp = opened.use(await serveTcp({ ...packets.tcp, auth, port: ports?.packets ?? 0 }));
  // Every client of this port is an operator, so it listens on the loopback address only.
  const theaterTcp = opened.use(await serveTheater({ stage, port: ports?.theater ?? 0 }));

  const all = opened.move();
  return {
    stage,
    urls: { mcp: http.url, packets: new URL("/packets", http.url).href, packetsTcp: packetsTcp.url, theater: theaterTcp.url },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Starts the guest unless it exists: like every actor, it survives a restart. */
async function startCounter({ stage }: Awaited<ReturnType<typeof start>>): Promise<void> {
  const actors = await stage.list(1_000);
  if (actors.every(({ name }) => name !== "counter")) await stage.start({ manifest: "counter/counter.toml", name: "counter" });
}

/** `node examples/all/index.ts [data]`. The keys of the users are in `TROUPE_KEY_ADA` (also an operator) and `TROUPE_KEY_BOB`. */
export async function main(data = "data/all"): Promise<void> {
  const { TROUPE_KEY_ADA: ada, TROUPE_KEY_BOB: bob } = process.env;
  if (ada === undefined || bob === undefined) throw new Error("Set TROUPE_KEY_ADA and TROUPE_KEY_BOB, 32 random digits each.");
  const keys = [
    { name: "ada", sha256: hashApiKey(ada), scopes: [OPERATOR] },
    { name: "bob", sha256: hashApiKey(bob) },
  ];
  const running = await start({ data, keys });
  await startCounter(running);
  console.log(JSON.stringify(running.urls));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void running[Symbol.asyncDispose]());
}

if (import.meta.main) await main(process.argv[2]);
