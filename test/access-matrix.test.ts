// Which caller reaches which actor, over every transport, compared with a table. One engine, served to callers with keys and to anonymous ones.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { actor, type Behaviour, hasClaim, isJsonObject, type Json, type Reply, type Viewer } from "troupe";
import type { Source } from "troupe/contract";
import * as z from "zod";
import { LocalEngine } from "troupe/engine";
import { Capabilities, capabilityOf, packetClient, packetEndpoints, PacketError, PacketFlow } from "troupe/packet";
import { createServer } from "troupe/server";
import { cast, merge, meta } from "troupe/source";
import { sqliteStore } from "troupe/store";
import { EngineStage, remoteStage, serveTheater } from "troupe/theater";
import { authenticator, serveTcp } from "troupe/transport";
import { engineHandler } from "../src/cli/operations.ts";
import { envelope, send } from "./wire.ts";

// ── the expected table ──────────────────────────────────────────────────────
//
// What a caller reaches of each kind, once Ann has written to all actors that she may address:
//   ann   Ann's actor      own   the caller's own actor      –   nothing: as if it did not exist
//   session    nothing, but over 2025-11-25 the actor that stands for the session
// `by key`: the caller names Ann's actor by its key. `handle`: the caller has Ann's handle.

const CALLERS = ["ann", "bob", "root", "anybody"] as const;
type Caller = (typeof CALLERS)[number];

const TABLE = `
  kind            | way    | ann | bob | root | anybody
  shared-any      | plain  | ann | ann | ann  | ann
  shared-starter  | plain  | ann | –   | –    | –
  user-any        | plain  | ann | own | own  | session
  user-starter    | plain  | ann | own | own  | session
  handle-any      | plain  | –   | –   | –    | –
  handle-starter  | plain  | –   | –   | –    | –
  link-any        | plain  | –   | –   | –    | –
  link-starter    | plain  | –   | –   | –    | –
  handle-any      | handle | ann | –   | –    | –
  handle-starter  | handle | ann | –   | –    | –
  link-any        | link   | ann | own | own  | –
  link-starter    | link   | ann | own | own  | –
  shared-any      | by key | ann | ann | ann  | ann
  shared-starter  | by key | ann | –   | –    | –
  user-any        | by key | ann | –   | –    | –
  user-starter    | by key | ann | –   | –    | –
  handle-any      | by key | –   | –   | –    | –
  handle-starter  | by key | –   | –   | –    | –
  link-any        | by key | –   | –   | –    | –
  link-starter    | by key | –   | –   | –    | –
`;

// The answer of each tool if its actor is reached: "yes" or the refusal. `root` has the scope admin, and a claim with the role manager.
const TOOLS: Readonly<Record<string, Readonly<Record<Caller, "yes" | "scope" | "–">>>> = {
  see: { ann: "yes", bob: "yes", root: "yes", anybody: "yes" },
  do: { ann: "yes", bob: "yes", root: "yes", anybody: "yes" },
  admin: { ann: "scope", bob: "scope", root: "yes", anybody: "scope" },
  manager_see: { ann: "–", bob: "–", root: "yes", anybody: "–" },
  manager_do: { ann: "–", bob: "–", root: "yes", anybody: "–" },
  hidden: { ann: "–", bob: "–", root: "–", anybody: "–" },
  unknown: { ann: "–", bob: "–", root: "–", anybody: "–" },
};

interface Row {
  readonly kind: string;
  readonly way: string;
  readonly reached: Readonly<Record<string, string>>;
}

const ROWS: readonly Row[] = TABLE.trim()
  .split("\n")
  .slice(1)
  .map((line) => {
    const [kind = "", way = "", ...cells] = line.split("|").map((cell) => cell.trim());
    return { kind, way, reached: Object.fromEntries(CALLERS.map((caller, at) => [caller, cells[at] ?? ""])) };
  });

// ── the kinds ───────────────────────────────────────────────────────────────

const who = (viewer: Viewer | undefined): string => viewer?.principal ?? "anybody";

const PERS = ["shared", "user", "handle", "link"] as const;

const state = z.object({ by: z.string(), n: z.number() });
type State = z.infer<typeof state>;

const kindFor = (per: (typeof PERS)[number], starter: boolean): Behaviour => {
  const name = `${per}-${starter ? "starter" : "any"}`;
  const id = name.replace("-", "_");
  return actor(name, {
    description: name,
    per,
    owner: starter ? "starter" : "anyone",
    autoStart: per === "link",
    persistence: "memory",
    state,
    initial: ({ viewer }) => ({ by: who(viewer), n: 0 }),
    allow: { manager: { holds: ({ viewer }) => hasClaim(viewer, "roles", "manager"), reason: false } },
    tools: {
      [`${id}_see`]: { description: "Sees.", view: ({ state: { by } }: { readonly state: State }) => by },
      [`${id}_do`]: {
        description: "Does.",
        run(turn: { readonly state: State }): string {
          turn.state.n += 1;
          return turn.state.by;
        },
      },
      [`${id}_admin`]: { description: "Administers.", scopes: ["admin"], view: ({ state: { by } }: { readonly state: State }) => by },
      [`${id}_manager_see`]: {
        description: "Sees as manager.",
        allow: "manager",
        view: ({ state: { by } }: { readonly state: State }) => by,
      },
      [`${id}_manager_do`]: {
        description: "Does as manager.",
        allow: "manager",
        run(turn: { readonly state: State }): string {
          turn.state.n += 1;
          return turn.state.by;
        },
      },
      [`${id}_hidden`]: { description: "Hidden.", enabled: () => false, run: (): string => "hidden" },
    },
  });
};

const kinds: readonly Behaviour[] = PERS.flatMap((per) => [kindFor(per, false), kindFor(per, true)]);

const hub = actor("hub", {
  description: "Leads its user to actors of link kinds.",
  per: "user",
  persistence: "memory",
  initial: () => ({}),
  links: {
    a: { kinds: ["link-any"], to: ({ viewer }) => `link-any/${who(viewer)}` },
    b: { kinds: ["link-starter"], to: ({ viewer }) => `link-starter/${who(viewer)}` },
  },
});

// ── the transports ──────────────────────────────────────────────────────────

/** Calls a tool; returns its result, "scope", or "–" if it does not exist. */
type Transport = (caller: Caller, call: Call) => Promise<string>;

interface Call {
  readonly row: Row;
  readonly tool: string;
}

const KEYS = { ann: "key-of-ann-0123456789abcdef", bob: "key-of-bob-0123456789abcdef", root: "key-of-root-0123456789abcde" };
const SCOPES = { ann: [], bob: [], root: ["admin", "troupe:operate"], anybody: [] };
const CLAIMS = { roles: ["manager"] };
const viewerOf = (caller: Caller): Viewer => ({
  ...(caller !== "anybody" && { principal: caller }),
  scopes: SCOPES[caller],
  ...(caller === "root" && { claims: CLAIMS }),
});

const opened = new AsyncDisposableStack();
const handles = new Map<string, string>();
let engine: LocalEngine;
let source: Source;
let flow: PacketFlow;
let urls: Readonly<
  Record<"keys" | "open", { readonly mcp: string; readonly packets: string; readonly webSocket: string; readonly tcp: string }>
>;
let control: ReturnType<typeof engineHandler>;
let theater: number;

const toolOf = ({ row: { kind, way }, tool }: Call, separator = "__"): string =>
  `${way === "link" ? (kind === "link-any" ? "a" : "b") + separator : ""}${kind.replace("-", "_")}_${tool}`;
const handleOf = ({ row }: Call): string | undefined => (row.way === "handle" ? handles.get(row.kind) : undefined);
const argsOf = (call: Call): Readonly<Record<string, Json>> => {
  const handle = handleOf(call);
  return handle === undefined ? {} : { handle };
};

const NOT_FOUND = new Set(["UNKNOWN", "HANDLE", "INVALID"]);

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const describeReply = (reply: Reply): string => {
  if ("ok" in reply) return textOf(reply.ok);
  if (!("refused" in reply)) return JSON.stringify(reply);
  const { code } = reply.refused;
  return code === "SCOPE" ? "scope" : NOT_FOUND.has(code) ? "–" : code;
};

const server = (caller: Caller) => urls[caller === "anybody" ? "open" : "keys"];
const bearer = (caller: Caller): Record<string, string> => (caller === "anybody" ? {} : { authorization: `Bearer ${KEYS[caller]}` });

/** The outcome of an MCP answer. */
const ofMcp = ({ status, reply }: Awaited<ReturnType<typeof send>>): string => {
  if (status === 403) return "scope";
  if (!isJsonObject(reply) || !isJsonObject(reply["result"])) return "–";
  const { content, isError } = reply["result"];
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  if (isError === true) return "–";
  return isJsonObject(first) ? textOf(first["text"]).replace(/^session\|.*/, "session") : textOf(reply);
};

const modern = async (caller: Caller, url: string, name: string, args: object): Promise<string> =>
  ofMcp(
    await send(
      url,
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, _meta: envelope() } },
      { ...bearer(caller), "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name },
    ),
  );

const sessions = new Map<Caller, Promise<string>>();

const sessionOf = (caller: Caller): Promise<string> => {
  const known = sessions.get(caller);
  if (known !== undefined) return known;
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "matrix", version: "1" } };
  const made = send(server(caller).mcp, { jsonrpc: "2.0", id: 1, method: "initialize", params }, bearer(caller)).then(
    ({ headers }) => headers.get("mcp-session-id") ?? "",
  );
  sessions.set(caller, made);
  return made;
};

const legacy: Transport = async (caller, call) =>
  ofMcp(
    await send(
      server(caller).mcp,
      { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: toolOf(call), arguments: argsOf(call) } },
      { ...bearer(caller), "mcp-session-id": await sessionOf(caller), "mcp-protocol-version": "2025-11-25" },
    ),
  );

const packetOf = (call: Call) => {
  const { kind, way } = call.row;
  const actor_id = way === "by key" ? keyOf(kind) : handleOf(call);
  return {
    capability: way === "link" ? "hub" : kind,
    payload: { tool: toolOf(call, ".") },
    options: actor_id === undefined ? {} : { actor_id },
  };
};

/** The key of Ann's actor of that kind. */
const keyOf = (kind: string): string => {
  const handle = handles.get(kind);
  if (handle !== undefined) return createHash("sha256").update(handle).digest("hex").slice(0, 32);
  return kind.startsWith("shared") ? "main" : "ann";
};

const ofPacket = async (answer: Promise<unknown>): Promise<string> => {
  try {
    const reply = await answer;
    return textOf(isJsonObject(reply) ? reply["result"] : reply);
  } catch (error) {
    if (!(error instanceof PacketError)) throw error;
    if (error.type === "unauthorized") return "scope";
    return ["actor_not_found", "no_handler", "validation_failed"].includes(error.type) ? "–" : error.type;
  }
};

const packets =
  (place: "packets" | "webSocket" | "tcp"): Transport =>
  async (caller, call) => {
    const { capability, payload, options } = packetOf(call);
    const client = packetClient(server(caller)[place], caller === "anybody" ? {} : { token: KEYS[caller] });
    try {
      return await ofPacket(client.request(capability, payload, options));
    } finally {
      client.close();
    }
  };

const TRANSPORTS: Readonly<Record<string, { readonly call: Transport; readonly byKey: boolean }>> = {
  "MCP 2025-11-25": { call: legacy, byKey: false },
  "MCP 2026-07-28": { call: (caller, call) => modern(caller, server(caller).mcp, toolOf(call), argsOf(call)), byKey: false },
  "/mcp/meta": {
    call: (caller, call) => modern(caller, `${server(caller).mcp}/meta`, "act", { action: toolOf(call), arguments: argsOf(call) }),
    byKey: false,
  },
  "in process": {
    call: async (caller, call) => describeReply(await source.act(viewerOf(caller), `tools/${toolOf(call)}`, argsOf(call), {})),
    byKey: false,
  },
  "in process, meta": {
    call: async (caller, call) =>
      describeReply(await meta(source).act(viewerOf(caller), "tools/act", { action: toolOf(call), arguments: argsOf(call) }, {})),
    byKey: false,
  },
  "packets over HTTP": { call: packets("packets"), byKey: true },
  "packets over WebSocket": { call: packets("webSocket"), byKey: true },
  "packets over TCP": { call: packets("tcp"), byKey: true },
  "packets in process": {
    async call(caller, call) {
      const { capability, payload, options } = packetOf(call);
      const { actor_id } = options;
      const running = flow.running.run(capability, payload, {
        viewer: viewerOf(caller),
        context: {},
        ...(actor_id !== undefined && { actor_id }),
      });
      return ofPacket(running.then(({ result }) => result));
    },
    byKey: true,
  },
};

before(async () => {
  const folder = opened.use(mkdtempDisposableSync(join(tmpdir(), "troupe-access-")));
  const store = opened.use(sqliteStore({ directory: folder.path }));
  const all = [...kinds, hub];
  engine = opened.use(await LocalEngine.start({ kinds: all, store }));
  const secret = { secret: new Uint8Array(32).fill(7) };
  source = cast({ engine, kinds: all, handles: secret });
  flow = opened.use(new PacketFlow({ engine, capabilities: new Capabilities(all.map((kind) => capabilityOf(kind))), handles: secret }));
  const ofPackets = opened.use(flow.source());
  const keys = Object.entries(KEYS).map(([name, key]) => ({
    name,
    sha256: createHash("sha256").update(key).digest("hex"),
    ...(name === "root" ? { scopes: SCOPES.root, claims: CLAIMS } : { scopes: [] }),
  }));
  const serve = async (open: boolean) => {
    const auth = open ? undefined : await authenticator({ keys });
    const options = { sources: [source, ofPackets], rateLimit: false as const, ...(auth !== undefined && { auth }) };
    const made = opened.use(createServer("matrix", "1", options));
    const packetRoutes = packetEndpoints(flow);
    const { http } = await made.listen({ http: { port: 0, endpoints: [packetRoutes.http], upgrades: [packetRoutes.webSocket] } });
    const tcp = opened.use(await serveTcp({ ...packetRoutes.tcp, port: 0, ...(auth !== undefined && { auth }) }));
    const at = new URL("/packets", http.url).href;
    return { mcp: http.url, packets: at, webSocket: at.replace(/^http/, "ws"), tcp: tcp.url };
  };
  urls = { keys: await serve(false), open: await serve(true) };
  control = engineHandler({ engine, kinds: [], store, edit: false, erased: () => undefined });
  const stage = opened.use(new EngineStage({ engine, kinds: all }));
  theater = opened.use(await serveTheater({ stage, port: 0 })).port;

  const ann = viewerOf("ann");
  for (const { kind } of kinds.filter(({ per }) => per === "handle")) {
    const reply = await source.act(ann, `tools/start_${kind}`, {}, {});
    const handle = "ok" in reply && isJsonObject(reply.ok) ? reply.ok["handle"] : undefined;
    assert.ok(typeof handle === "string");
    handles.set(kind, handle);
  }
  for (const row of ROWS)
    if (row.way !== "by key" && row.reached["ann"] === "ann") {
      const call = { row, tool: "do" };
      assert.equal(describeReply(await source.act(ann, `tools/${toolOf(call)}`, argsOf(call), {})), "ann", `${row.kind} ${row.way}`);
    }
});

after(() => opened.disposeAsync());

const living = async (): Promise<readonly string[]> => (await engine.list({ limit: 1_000 })).map(({ id }) => id).toSorted();

/** The table's entry for that call. */
function expected({ reached }: Row, caller: Caller, tool: string, transport: string): readonly string[] {
  const cell = reached[caller] ?? "";
  const to = cell === "session" && transport !== "MCP 2025-11-25" ? "–" : cell;
  const answer = TOOLS[tool]?.[caller] ?? "";
  // For an unreachable actor the list may state the scope of a tool, and nothing else.
  if (to === "–") return answer === "scope" ? ["–", "scope"] : ["–"];
  return [answer === "yes" ? (to === "own" ? caller : to) : answer];
}

describe("access", () => {
  for (const [name, { call, byKey }] of Object.entries(TRANSPORTS))
    test(`${name}: each caller reaches what the table says, and reads start nothing`, async () => {
      const wrong: string[] = [];
      const started = await living();
      for (const tool of ["see", "admin", "manager_see", "hidden", "unknown", "manager_do", "do"]) {
        if (tool === "manager_do") assert.deepEqual(await living(), started);
        for (const row of ROWS.filter(({ way }) => byKey || way !== "by key"))
          for (const caller of CALLERS) {
            const want = expected(row, caller, tool, name);
            const got = await call(caller, { row, tool });
            if (!want.includes(got)) wrong.push(`${row.kind} ${row.way} ${tool} by ${caller}: ${got}, not ${want.join(" or ")}`);
          }
      }
      assert.deepEqual(wrong, []);
    });

  test("a source without a surface still refuses callers that lack scopes", async () => {
    const failing: Source = {
      surface: () => Promise.reject(new Error("The store is away.")),
      act: (...call) => source.act(...call),
      watch: () => () => undefined,
    };
    using other = flow.source();
    const ahead: Source = { ...failing, catalogue: (viewer) => source.catalogue?.(viewer) };
    for (const one of [failing, ahead]) {
      const both = merge(one, other);
      const request = { action: "shared_any_admin", arguments: {} };
      assert.equal(describeReply(await both.act(viewerOf("bob"), "tools/shared_any_admin", {}, {})), "scope");
      const byMeta = meta(both).act(viewerOf("bob"), "tools/act", request, {});
      if (one === ahead) assert.equal(describeReply(await byMeta), "scope");
      else await assert.rejects(byMeta);
    }
  });

  test("no list names a hidden tool, in either era", async () => {
    for (const caller of CALLERS) {
      const { mcp } = server(caller);
      const session = { ...bearer(caller), "mcp-session-id": await sessionOf(caller), "mcp-protocol-version": "2025-11-25" };
      const old = await send(mcp, { jsonrpc: "2.0", id: 3, method: "tools/list", params: {} }, session);
      const now = await send(
        mcp,
        { jsonrpc: "2.0", id: 3, method: "tools/list", params: { _meta: envelope() } },
        { ...bearer(caller), "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" },
      );
      for (const { reply } of [old, now]) {
        const text = JSON.stringify(reply);
        assert.match(text, /shared_any_see/);
        for (const { kind, per } of kinds)
          if (per === "shared" || (per === "user" && caller !== "anybody"))
            assert.ok(!text.includes(`${kind.replace("-", "_")}_hidden`), `${kind} ${caller}`);
      }
    }
  });

  test("no resource exposes an actor or state of a kind that is not a capability", async () => {
    for (const caller of CALLERS) {
      const viewer = viewerOf(caller);
      using capabilities = flow.source();
      assert.deepEqual(await capabilities.act(viewer, "resources/capability_actors", {}, {}), { ok: { actors: [] } });
      for (const { kind } of kinds)
        for (const id of [keyOf(kind), "unknown"])
          assert.equal(
            describeReply(await capabilities.act(viewer, "resources/capability_actor", { capability: kind, id }, {})),
            "–",
            `${kind} ${caller}`,
          );
      assert.deepEqual(await flow.actors.listActors(viewer), []);
      for (const { kind } of kinds) await assert.rejects(flow.actors.getActorState(kind, keyOf(kind), viewer), { type: "actor_not_found" });
    }
  });

  test("an operator reaches any actor through the control socket and through Theater", async () => {
    await using stage = remoteStage({ port: theater });
    const listed = (await stage.list(1_000)).map(({ id, name }) => `${name} ${id}`);
    for (const { kind } of kinds) {
      const id = `${kind}/${keyOf(kind)}`;
      assert.ok(
        listed.some((one) => one.includes(id)),
        `${id} of ${listed.join(", ")}`,
      );
      const called = await control("call", { actor: id, action: `tools/${kind.replace("-", "_")}_do`, as: "ann" });
      assert.deepEqual(called, { ok: "ann" }, id);
    }
  });
});
