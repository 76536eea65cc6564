// Owns: that public functions refuse options which they do not know. Plain JavaScript has no compiler to find them, and a misspelt `scopes`
// would admit every token.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fromAgenticService } from "../src/bridges/agentic/index.ts";
import { consoleFor, recordLive, sqliteSql } from "../src/bridges/console/index.ts";
import { serve } from "../src/bridges/embed/index.ts";
import {
  capabilitySource,
  foreignServers,
  McpTunnel,
  packetClient,
  packetEndpoints,
  PacketFlow,
  searchIndex,
} from "../src/bridges/packet/index.ts";
import { EngineStage, remoteStage, saveChains, serveTheater, theaterFace } from "../src/bridges/theater/index.ts";
import { createComponentReader, createGuests, createSandbox, ManifestFinder } from "../src/bridges/wasm/index.ts";
import { LocalEngine } from "../src/core/engine/index.ts";
import {
  memoryContents,
  memorySessionStore,
  memoryStore,
  memoryStreamStore,
  mendedSessionStores,
  sqliteContents,
  sqliteSessionStores,
  sqliteStore,
} from "../src/core/store/index.ts";
import { joinCluster } from "../src/hosts/cluster/index.ts";
import { createSessionTables, dynamoSessionStores } from "../src/hosts/dynamo/index.ts";
import { bufferedHandler, streamingHandler } from "../src/hosts/lambda/index.ts";
import { RestateEngine } from "../src/hosts/restate/index.ts";
import { fromMcpServer } from "../src/mcp/mount/index.ts";
import { createServer, serveActors } from "../src/mcp/server/index.ts";
import { registry } from "../src/mcp/source/index.ts";
import { authenticator, serveHttp, serveStdio, serveTcp, webHandler } from "../src/mcp/transport/index.ts";
import {
  clientMatrix,
  recordTranscript,
  remoteServer,
  replayTranscript,
  TestClient,
  testActor,
  testServer,
  torture,
} from "../src/testing/index.ts";
import { packetTest } from "../src/testing/packets/index.ts";

const key = { name: "ann", sha256: "0".repeat(64) };

/** What takes the options, the misspelt name, and the known one that the error suggests. */
const MISSPELT: readonly (readonly [of: string, misspelt: string, meant: string, open: (options: object) => unknown])[] = [
  ["authenticator", "scope", "scopes", (options) => Reflect.apply(authenticator, undefined, [{ keys: [key], ...options }])],
  ["An API key", "scope", "scopes", (options) => Reflect.apply(authenticator, undefined, [{ keys: [{ ...key, ...options }] }])],
  ["An issuer", "audiences", "audience", (options) => Reflect.apply(authenticator, undefined, [{ issuers: [options] }])],
  ["bufferedHandler", "callers", "caller", (options) => Reflect.apply(bufferedHandler, undefined, [() => new Response(), options])],
  ["streamingHandler", "callers", "caller", (options) => Reflect.apply(streamingHandler, undefined, [() => new Response(), options])],
  ["theaterFace", "requiredScope", "requireScope", (options) => Reflect.apply(theaterFace, undefined, [options])],
  ["serveTheater", "paths", "path", (options) => Reflect.apply(serveTheater, undefined, [options])],
  ["remoteStage", "ports", "port", (options) => Reflect.apply(remoteStage, undefined, [options])],
  ["RestateEngine.start", "identityKey", "identityKeys", (options) => RestateEngine.start(Object(options))],
  ["joinCluster", "secrets", "secret", (options) => Reflect.apply(joinCluster, undefined, [options])],
  ["dynamoSessionStores", "tables", "table", (options) => Reflect.apply(dynamoSessionStores, undefined, [options])],
  ["createSessionTables", "tables", "table", (options) => Reflect.apply(createSessionTables, undefined, [options])],
  ["PacketFlow", "admits", "admit", (options) => Reflect.construct(PacketFlow, [options])],
  ["packetEndpoints", "paths", "path", (options) => Reflect.apply(packetEndpoints, undefined, [undefined, options])],
  ["packetClient", "tokens", "token", (options) => Reflect.apply(packetClient, undefined, ["http://127.0.0.1:1/packets", options])],
  ["foreignServers", "maxByte", "maxBytes", (options) => Reflect.apply(foreignServers, undefined, [options])],
  ["searchIndex", "files", "file", (options) => Reflect.apply(searchIndex, undefined, [options])],
  ["createGuests", "directories", "directory", (options) => Reflect.apply(createGuests, undefined, [options])],
  ["createSandbox", "worker", "workers", (options) => Reflect.apply(createSandbox, undefined, [options])],
  ["fromAgenticService", "action", "actions", (options) => Reflect.apply(fromAgenticService, undefined, [{}, options])],
  ["serve", "principals", "principal", (options) => Reflect.apply(serve, undefined, [registry({}), options])],
  ["recordLive", "clocks", "clock", (options) => Reflect.apply(recordLive, undefined, [options])],
  ["fromMcpServer", "callMS", "callMs", (options) => Reflect.apply(fromMcpServer, undefined, [{}, options])],
  ["registry", "tool", "tools", (options) => Reflect.apply(registry, undefined, [options])],
  ["LocalEngine.start", "stores", "store", (options) => LocalEngine.start(Object(options))],
  ["createServer", "Auth", "auth", (options) => Reflect.apply(createServer, undefined, ["door", "1", options])],
  ["serveActors", "Auth", "auth", (options) => Reflect.apply(serveActors, undefined, [{ kinds: [], ...options }])],
  ["serveHttp", "Auth", "auth", (options) => Reflect.apply(serveHttp, undefined, [options])],
  ["serveTcp", "Auth", "auth", (options) => Reflect.apply(serveTcp, undefined, [options])],
  ["serveStdio", "As", "as", (options) => Reflect.apply(serveStdio, undefined, [options])],
  ["webHandler", "Auth", "auth", (options) => Reflect.apply(webHandler, undefined, [options])],
  ["sqliteStore", "directry", "directory", (options) => Reflect.apply(sqliteStore, undefined, [options])],
  ["memoryStore", "clocks", "clock", (options) => Reflect.apply(memoryStore, undefined, [options])],
  ["sqliteContents", "totalByte", "totalBytes", (options) => Reflect.apply(sqliteContents, undefined, ["/nowhere/contents.db", options])],
  ["memoryContents", "pieceByte", "pieceBytes", (options) => Reflect.apply(memoryContents, undefined, [options])],
  ["sqliteSessionStores", "busyMS", "busyMs", (options) => Reflect.apply(sqliteSessionStores, undefined, [options])],
  ["mendedSessionStores", "onDamages", "onDamage", (options) => Reflect.apply(mendedSessionStores, undefined, [options])],
  ["memorySessionStore", "session", "sessions", (options) => Reflect.apply(memorySessionStore, undefined, [options])],
  ["testServer", "seeds", "seed", (options) => Reflect.apply(testServer, undefined, [[], options])],
  ["A test client", "scope", "scopes", (options) => Reflect.construct(TestClient, [registry({}), options])],
  ["testActor", "keys", "key", (options) => Reflect.apply(testActor, undefined, [{}, options])],
  ["torture", "seeds", "seed", (options) => Reflect.apply(torture, undefined, [options])],
  ["clientMatrix", "call", "calls", (options) => Reflect.apply(clientMatrix, undefined, [() => undefined, options])],
  ["remoteServer", "header", "headers", (options) => Reflect.apply(remoteServer, undefined, ["http://127.0.0.1:1/mcp", options])],
  ["recordTranscript", "names", "name", (options) => Reflect.apply(recordTranscript, undefined, [{}, options])],
  ["replayTranscript", "callers", "caller", (options) => Reflect.apply(replayTranscript, undefined, [{}, {}, options])],
  ["packetTest", "users", "user", (options) => Reflect.apply(packetTest, undefined, [options])],
  ["capabilitySource", "exposes", "expose", (options) => Reflect.apply(capabilitySource, undefined, [options])],
  ["McpTunnel", "session", "sessions", (options) => Reflect.construct(McpTunnel, [options])],
  ["consoleFor", "tokens", "token", (options) => Reflect.apply(consoleFor, undefined, [options])],
  ["sqliteSql", "kind", "kinds", (options) => Reflect.apply(sqliteSql, undefined, [options])],
  ["EngineStage", "guest", "guests", (options) => Reflect.construct(EngineStage, [options])],
  ["saveChains", "directry", "directory", (options) => Reflect.apply(saveChains, undefined, [options])],
  ["createComponentReader", "content", "contents", (options) => Reflect.apply(createComponentReader, undefined, [options])],
  ["ManifestFinder", "close", "closed", (options) => Reflect.construct(ManifestFinder, [options])],
  ["memoryStreamStore", "totalByte", "totalBytes", (options) => Reflect.apply(memoryStreamStore, undefined, [options])],
];

describe("public functions refuse misspelt options", () => {
  for (const [of, misspelt, meant, open] of MISSPELT)
    test(`${of} refuses \`${misspelt}\` and suggests \`${meant}\``, async () => {
      await assert.rejects(async () => open({ [misspelt]: true }), {
        code: "BAD_OPTION",
        message: new RegExp(`^${of} has no option "${misspelt}", do you mean "${meant}"\\? There are .*\\b${meant}\\b`),
      });
    });
});

test("the bounds of a content store are numbers of bytes", () => {
  for (const bound of [NaN, -1, "1"])
    assert.throws(() => Reflect.apply(memoryContents, undefined, [{ totalBytes: bound }]), {
      code: "BAD_OPTION",
      message: "totalBytes has to be a number of bytes, or Infinity.",
    });
});

test("limits that may be absent in effect may be Infinity", async () => {
  const mounted = { connect: async () => undefined, close: async () => undefined };
  const limits = { callMs: Infinity, askMs: Infinity, listMs: Infinity, maxServers: Infinity, maxListed: Infinity, maxLength: Infinity };
  await using _ = fromMcpServer(() => mounted, limits);
  await using __ = memorySessionStore({ sessions: Infinity });
  await using ___ = memoryStreamStore({ sessions: Infinity, totalBytes: Infinity });
  assert.throws(() => memorySessionStore({ sessions: NaN }), { code: "BAD_OPTION" });
});
