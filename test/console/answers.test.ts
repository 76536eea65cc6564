// Each route of the console's API answers as its OpenAPI document says.
import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as z from "zod";
import { consoleSchemas } from "../../scripts/console-schemas.ts";
import { ALL_ROUTES } from "../../src/bridges/console/all-routes.ts";
import { consoleFor, engineOperations, engineReader, type GuestsData, recordLive, sqliteSql } from "../../src/bridges/console/index.ts";
import { capabilityOf, planChain } from "../../src/bridges/packet/index.ts";
import { actor, actorId, index } from "../../src/core/actor/index.ts";
import { isJsonObject, type Json, type JsonObject, systemClock } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { sqliteStore } from "../../src/core/store/index.ts";
import { createGateway } from "../../src/mcp/gateway/index.ts";
import { cast } from "../../src/mcp/source/index.ts";
import { serveHttp } from "../../src/mcp/transport/index.ts";
import { TOKEN } from "./requests.ts";

const lamp = actor("lamp", {
  description: "A lamp.",
  per: "shared",
  state: z.object({ lit: z.boolean().default(false) }),
  tools: {
    light: {
      description: "Light it.",
      enabled: ({ state }) => !state.lit || "It is lit.",
      run({ state, send, wake, messages }) {
        state.lit = true;
        wake("off", { afterMs: 3_600_000, message: messages.out() });
        send(actorId("lamp", "broken"), "fail");
      },
    },
  },
  messages: {
    out: { run: ({ state }) => void (state.lit = false) },
    fail: {
      run() {
        throw new Error("broken");
      },
    },
  },
});
const lit = index(lamp, { name: "lamps", pick: ["lit"] });

/** What a route needs beyond the actor lamp/main and its last event. */
const BODIES: Readonly<Record<string, object>> = {
  "POST /apps": { html: "<p>", csp: { connectDomains: ["https://a.example", "*"] } },
  "POST /actors/:kind/:key/call": { offer: "tools/light" },
  "POST /actors/:kind/:key/stop": { reason: "a test" },
  "POST /actors/:kind/:key/fork": { to: "lamp/copy" },
  "POST /actors/:kind/:key/revert": { to: 1, reason: "a test", force: true },
  "POST /actors/:kind/:key/edit": { state: { lit: false }, reason: "a test" },
  "POST /sql": { sql: "SELECT id, state FROM actors" },
  "POST /batch": { operation: "restart", ids: ["lamp/main"] },
};

/** Stands for a guest: any actor that has a state. */
const guests: GuestsData = {
  kind: "lamp",
  read: () => ({
    facts: {
      name: "lamp",
      component: "c",
      manifest: "m",
      children: [],
      channels: 0,
      requests: 0,
      measured: { failed: 0, totalMs: 1, minMs: 1, maxMs: 1 },
    },
    paused: false,
  }),
  manifest: async () => ({ text: "name = 1", limits: { callMs: 1, memoryBytes: 1 }, onError: "pause", grants: [] }),
};
/** The operations of guests, with answers like the command line's. */
const OF_GUESTS: Readonly<Record<string, Json>> = {
  "guest-restart": null,
  reexecute: { actor: "lamp/main", run: 1, mismatches: [{ seq: 1, event: "e", what: "reply", now: 2 }], taken: { erased: 1 } },
  collect: { kept: 1, dropped: 2, bytes: 3 },
};

/** Routes whose object may be missing; the answer is then a refusal in the documented form. */
const MISSING = new Set(["POST /letters/:id", "POST /tasks/:id/cancel", "POST /viewer-tokens"]);

async function serve(directory: string) {
  await using opened = new AsyncDisposableStack();
  const live = opened.use(recordLive());
  const store = opened.use(sqliteStore({ directory }));
  const engine = opened.use(await LocalEngine.start({ kinds: [lamp], indexes: [lit], store, observer: live.observer }));
  const source = cast({ engine, kinds: [lamp], indexes: [lit] });
  const gateway = opened.use(createGateway({ source, info: { name: "test", version: "1" }, observer: live.observer }));
  const body = new TextEncoder().encode(JSON.stringify(consoleSchemas()));
  const operate = engineOperations({ engine, kinds: [lamp], store });
  const endpoints = consoleFor({
    about: { name: "test", version: "1", engine: "sqlite", development: true, docs: "docs", mcp: "/mcp" },
    reader: engineReader(() => engine, store),
    running: () => ({ engine, kinds: [lamp], indexes: [lit], source }),
    operate: async (operation, args) => OF_GUESTS[operation] ?? (operation in OF_GUESTS ? null : await operate(operation, args)),
    guests,
    packets: {
      capabilities: () => [capabilityOf(lamp)],
      plan: (from, to) => planChain([capabilityOf(lamp)], from, to)?.steps,
      search: async () => [{ actor: lamp.id("main"), seq: 1, event: "e", at: 1, field: "payload:text", snippet: "a", score: 1 }],
    },
    live,
    disk: async () => ({ bytes: 1 }),
    sql: sqliteSql({ directory }),
    now: () => systemClock.now(),
    token: TOKEN,
    assets: { find: () => ({ type: "application/json", body, immutable: false }) },
  });
  const http = opened.use(await serveHttp({ gateway: live.gateway(gateway, "http"), endpoints }));
  const all = opened.move();
  return { engine, url: http.url, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** The events of a stream: all of an operation's, the first of an endless one. */
async function* eventsOf(response: Response): AsyncGenerator<{ readonly event: string; readonly data: unknown }> {
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (text + chunk).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined) yield { event: /^event: (.*)$/m.exec(block)?.[1] ?? "message", data: JSON.parse(data) };
    }
  }
}

test("every route of the console answers as in its OpenAPI document", { timeout: 60_000 }, async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-console-answers-"));
  await using server = await serve(folder.path);
  await server.engine.call({ to: lamp.id("main"), action: "tools/light", args: {}, start: null });
  await server.engine.call({ to: lamp.id("main"), action: "out", args: {} });
  const mcp = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "page", version: "1" } };
  await fetch(server.url, { method: "POST", headers: mcp, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }) });

  const base = new URL("/console/api", server.url).href;
  const send = (verb: string, path: string, body?: object): Promise<Response> =>
    fetch(`${base}${path}`, {
      method: verb,
      headers: { authorization: `Bearer ${TOKEN}`, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const read = async (path: string): Promise<JsonObject> => {
    const value: unknown = await (await send("GET", path)).json();
    return isJsonObject(value) ? value : assert.fail(path);
  };
  const document = await read("/openapi.json");
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, "api");
  const check = (place: string, value: unknown, what: string): void => {
    const valid = ajv.getSchema(`api#/${place}`) ?? assert.fail(`${what}: there is no ${place}`);
    assert.ok(valid(value), `${what}: ${JSON.stringify(valid.errors?.[0])} in ${JSON.stringify(value).slice(0, 500)}`);
  };
  const pointer = (text: string): string => encodeURIComponent(text.replaceAll("~", "~0").replaceAll("/", "~1"));

  const [event] = Object(await read("/actors/lamp/main/events"))["items"];
  const [row] = Object(await read("/traffic"))["items"];
  const bodies: Readonly<Record<string, object>> = {
    ...BODIES,
    "POST /receipts/check": { actor: "lamp/main", seq: event.seq, head: event.id },
    "POST /letters/:id": { fate: "drop" },
  };
  // Stopping an actor comes last: others need it.
  const routes = ALL_ROUTES.toSorted((one, other) => Number(one.path.endsWith("/stop")) - Number(other.path.endsWith("/stop")));
  for (const { verb, path, streams, query = {} } of routes) {
    const name = `${verb} ${path}`;
    const needed = /\/(?:diff|state|packets\/search)$/.test(path) ? Object.keys(query).filter((key) => key !== "actor") : [];
    const search = new URLSearchParams(needed.map((key): [string, string] => [key, key === "from" ? "0" : "1"]));
    const filled = path.replace(":kind", "lamp").replace(":key", "main").replace(":id", event.id).replace(":n", String(row.n));
    const response = await send(
      verb,
      `${filled}${search.size > 0 ? `?${search.toString()}` : ""}`,
      verb === "POST" ? (bodies[name] ?? {}) : undefined,
    );
    const openPath = path.replaceAll(/:(\w+)/g, "{$1}");
    const at = `paths/${pointer(openPath)}/${verb.toLowerCase()}/responses/200`;
    if (!response.ok) {
      const failed: unknown = await response.json();
      assert.ok(MISSING.has(name), `${name}: ${response.status} ${JSON.stringify(failed)}`);
      check("components/schemas/Failure", failed, name);
    } else if (streams === true) {
      for await (const { event: kind, data } of eventsOf(response)) {
        check(kind === "progress" ? "components/schemas/ProgressShape" : `${at}/x-events`, data, `${name} ${kind}`);
        assert.notEqual(kind, "failed");
        if (path === "/stream") break;
      }
    } else check(`${at}/content/${pointer("application/json")}/schema`, await response.json(), name);
  }
});
