// Everything public that opens a resource can be closed by `close()` and by `using`.
import assert from "node:assert/strict";
import { globSync, mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import type { AgenticSource } from "troupe/agentic";
import type { joinCluster } from "troupe/cluster";
import type { recordLive } from "troupe/console";
import type { Closable } from "troupe/contract";
import type { dynamoSessionStores } from "troupe/dynamo";
import type { serve } from "troupe/embed";
import { LocalEngine } from "troupe/engine";
import { createGateway } from "troupe/gateway";
import type { fromMcpServer } from "troupe/mount";
import type { capabilitySource, foreignServers, McpTunnel, PacketClient, PacketFlow, searchIndex } from "troupe/packet";
import type { packetTest } from "troupe/packet-testing";
import type { RestateEngine, restateExporter, restateImporter, restateSessionStore } from "troupe/restate";
import { createServer, serveActors } from "troupe/server";
import { merge } from "troupe/source";
import {
  memoryContents,
  memorySessionStore,
  memoryStore,
  memoryStreamStore,
  mendedSessionStores,
  sqliteContents,
  sqliteExporter,
  sqliteImporter,
  sqliteSessionStores,
  sqliteStore,
} from "troupe/store";
import { FaultyStore, testServer } from "troupe/testing";
import type { EngineStage, remoteStage, serveTheater, theaterFace } from "troupe/theater";
import { connectInMemory, serveHttp, serveTcp, webHandler } from "troupe/transport";
import type { createGuests, createSandbox } from "troupe/wasm";

/** Compiles only for types with both `close` and a dispose method. */
type Ends<T extends Closable | (Disposable & { close(): void })> = T;

/** Types that could only be opened with other servers, workers or processes. */
type Elsewhere = Ends<
  | AgenticSource
  | Awaited<ReturnType<typeof joinCluster>>
  | ReturnType<typeof dynamoSessionStores>
  | Awaited<ReturnType<typeof serve>>
  | ReturnType<typeof fromMcpServer>
  | ReturnType<typeof capabilitySource>
  | ReturnType<typeof foreignServers>
  | McpTunnel
  | PacketClient
  | PacketFlow
  | ReturnType<typeof searchIndex>
  | Awaited<ReturnType<typeof packetTest>>
  | ReturnType<typeof recordLive>
  | RestateEngine
  | ReturnType<typeof restateExporter>
  | ReturnType<typeof restateImporter>
  | ReturnType<typeof restateSessionStore>
  | EngineStage
  | ReturnType<typeof remoteStage>
  | Awaited<ReturnType<typeof serveTheater>>
  | ReturnType<typeof theaterFace>
  | ReturnType<typeof createGuests>
  | ReturnType<typeof createSandbox>
>;

test("everything that opens a resource is closed by close(), and may be disposed of again", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-close-"));
  const at = (name: string): string => join(folder.path, name);
  const gateway = createGateway({ source: merge(), info: { name: "g", version: "1" } });
  const server = createServer("s", "1");
  const engineStore = memoryStore();
  const opened: readonly Closable[] = [
    await serveActors({ kinds: [] }),
    server,
    await serveHttp({ gateway }),
    await serveTcp({ gateway }),
    webHandler({ gateway }),
    connectInMemory(gateway),
    gateway,
    await LocalEngine.start({ kinds: [], store: engineStore }),
    engineStore,
    sqliteStore({ directory: at("actors") }),
    memorySessionStore(),
    memoryStreamStore(),
    sqliteSessionStores({ path: at("sessions.db") }),
    mendedSessionStores({ path: at("mended.db"), onDamage: () => undefined }),
    memoryContents(),
    sqliteContents(at("content.db")),
    await testServer([]),
    (await testServer([])).client(),
    new FaultyStore(memoryStore(), () => "pass"),
  ];
  for (const one of opened) {
    await one.close();
    await one[Symbol.asyncDispose]();
  }
  await sqliteImporter({ directory: at("imported") }).close();
  const exporter = sqliteExporter({ directory: at("actors") });
  await exporter.close();
  await exporter[Symbol.asyncDispose]();
  // All are closed, so each lock is free again.
  await sqliteStore({ directory: at("actors") }).close();
});

test("stores spread into a server's options add no other option", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-close-"));
  await using stores = sqliteSessionStores({ path: join(folder.path, "sessions.db") });
  assert.deepEqual(Object.keys({ ...stores }).toSorted(), ["sessions", "streams", "taskStore"]);
  await createServer("s", "1", { ...stores }).close();
});

test("every public interface that can be disposed of has a close method", () => {
  const src = resolve(import.meta.dirname, "../src");
  // Contracts for custom stores, engines and stages need only the dispose symbol; the functions that open them return `Closable`.
  const contracts = new Set(
    "Exporter Importer SessionStore StreamStore TaskStore Store ContentStore Gateway Engine Peers Stage Sandbox".split(" "),
  );
  const without = globSync("{core,mcp,bridges}/**/*.ts", { cwd: src, exclude: ["**/*.test.ts", "**/*.fixture.ts"] }).flatMap((file) =>
    Array.from(
      readFileSync(join(src, file), "utf8").matchAll(/export interface (\w+) extends [^{]*\b(?:Async)?Disposable\b[^{]*\{([\s\S]*?)\n\}/g),
      ([, name = "", body = ""]) => ({ name, closes: /\bclose\(/.test(body) }),
    ).flatMap(({ name, closes }) => (closes || contracts.has(name) ? [] : [`${file}: ${name}`])),
  );
  assert.deepEqual(without, []);
  const all: Elsewhere[] = [];
  assert.equal(all.length, 0);
});
