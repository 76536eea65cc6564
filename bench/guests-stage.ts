// The engine, sandbox and stage of the guest benches, in memory or on disk.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Caller, systemClock, systemEntropy, type Viewer } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import { createGateway } from "troupe/gateway";
import { memoryContents, sqliteContents, sqliteStore } from "troupe/store";
import { EngineStage, THEATER_INFO, theaterFace } from "troupe/theater";
import { connectInMemory } from "troupe/transport";
import { checkGranted, createGuests, createSandbox, GUEST_LIMITS, ManifestFinder, readComponent, type SandboxOptions } from "troupe/wasm";
import { root } from "./server-process.ts";
import { plain } from "./kinds/plain.ts";

// Not from a pool, since Extism takes the whole buffer of a Uint8Array.
export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const never = new AbortController().signal;

/** Reads a committed component. */
export const wasm = (path: string): Uint8Array => readFileSync(join(root, `${path}.wasm`));
export const ECHO = "test/wasm/guests/echo/echo";
export const COUNTER = "examples/wasm/counter/counter";
export const HOSTILE = "test/wasm/guests/hostile/hostile";

export const MANIFEST = ["runtime", "message-server"].reduce(
  (text, type) => `${text}[[handlers]]\ntype = "${type}"\nconfig = {}\n`,
  'name = "bench"\ncomponent = "bench.wasm"\n',
);

export interface StageOptions extends SandboxOptions {
  /** The directory of the store. Absent: in memory. */
  readonly directory?: string;
  readonly callMs?: number;
}

/** Opens a stage in this process, with its guests in worker threads. */
export const openStage = async ({ directory, callMs = GUEST_LIMITS.callMs, ...pool }: StageOptions) => {
  const persistence = directory === undefined ? "memory" : "disk";
  const contents = directory === undefined ? memoryContents() : sqliteContents(join(directory, "content.db"));
  const store = directory === undefined ? undefined : sqliteStore({ directory });
  const sandbox = createSandbox(pool);
  const guests = createGuests({
    sandbox,
    contents,
    clock: systemClock,
    entropy: systemEntropy,
    persistence,
    limits: { ...GUEST_LIMITS, callMs },
    manifests: new ManifestFinder({ contents }),
    readComponent,
    checkGranted,
    variables: {},
  });
  const typescript = plain(persistence);
  const engine = await LocalEngine.start({ kinds: [guests.kind, typescript], ...(store === undefined ? {} : { store }) });
  const detach = guests.attach(engine);
  const stage = new EngineStage({ engine, guests, contents, kinds: [typescript], entropy: systemEntropy });
  return {
    stage,
    engine,
    sandbox,
    async [Symbol.asyncDispose](): Promise<void> {
      await stage[Symbol.asyncDispose]();
      detach();
      await engine[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
      await store?.[Symbol.asyncDispose]();
      await contents[Symbol.asyncDispose]();
    },
  };
};

const OPERATOR: Caller & Viewer = { principal: "operator", scopes: [] };

/** Connects a client to Theater's MCP server in memory. `ask` returns the text of a response. */
export const connectMcp = async (stage: EngineStage) => {
  const face = theaterFace({ stage });
  const gateway = createGateway({ source: face, info: THEATER_INFO, rateLimit: false });
  const client = connectInMemory(gateway, OPERATOR);
  let answered: (text: string) => void = () => undefined;
  client.onMessage((text) => answered(text));
  const ask = (method: string, params: object): Promise<string> =>
    new Promise((resolve) => {
      answered = resolve;
      client.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
    });
  await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } });
  client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return {
    ask,
    async [Symbol.asyncDispose](): Promise<void> {
      await client[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
      await face[Symbol.asyncDispose]();
    },
  };
};
