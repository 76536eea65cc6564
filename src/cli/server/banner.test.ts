import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { capability } from "../../bridges/packet/index.ts";
import { actor, index } from "../../core/actor/index.ts";
import { type Behaviour, DEFAULT_POLICY } from "../../core/contract/index.ts";
import type { LoadedModule } from "../load-modules.ts";
import { banner, type BannerInfo } from "./banner.ts";

const plain = (_style: string, text: string): string => text;

const offers = (...names: readonly string[]): readonly { name: string; definition: object; action: string; readOnly: boolean }[] =>
  names.map((name) => ({ name, definition: {}, action: `tools/${name}`, readOnly: false }));

const kind = (name: string, tools: readonly string[], persistence: "disk" | "memory" = "disk"): Behaviour =>
  Object.assign(Object.create(null), {
    kind: name,
    version: 1,
    policy: { ...DEFAULT_POLICY, persistence },
    catalogue: { tools: offers(...tools), resources: [], prompts: offers("begin") },
    initial: () => ({}),
    receive: () => ({}),
  });

const part = (...kinds: readonly Behaviour[]): LoadedModule => ({ kinds, cast: kinds, indexes: [], capabilities: [], sources: [] });

const facts = (more: Partial<BannerInfo>): BannerInfo => ({
  name: "The Keep",
  parts: [part(kind("room", ["look", "take"]), kind("player", ["wear"]))],
  files: ["/worlds/keep.yaml"],
  addresses: { http: "http://127.0.0.1:3000/mcp", meta: "http://127.0.0.1:3000/mcp/meta" },
  data: "/data",
  unserved: [],
  needsKey: false,
  isInteractive: true,
  ...more,
});

test("the banner says what is served, where, how to connect and where data is stored", () => {
  assert.equal(
    banner(facts({}), plain),
    `The Keep is served: 2 kinds of actors with 3 tools and 2 prompts.

  HTTP   http://127.0.0.1:3000/mcp
         http://127.0.0.1:3000/mcp/meta for clients that load the list of tools only once
  Data   /data

Connect a client:
  claude mcp add --transport http the-keep http://127.0.0.1:3000/mcp
or have its settings changed (cursor, vscode, claude-desktop, codex, goose, gemini):
  npx troupe install cursor http://127.0.0.1:3000/mcp --name the-keep --yes
or write into them yourself:
  {"mcpServers":{"the-keep":{"type":"http","url":"http://127.0.0.1:3000/mcp"}}}
or look at it:
  npx --yes @modelcontextprotocol/inspector@2 --cli http://127.0.0.1:3000/mcp --method tools/list

Ctrl-C stops it.`,
  );
});

test("the banner says where a client puts its key", () => {
  const text = banner(facts({ needsKey: true }), plain);
  assert.match(text, /claude mcp add --transport http the-keep \S+ --header "Authorization: Bearer YOUR-KEY"/);
  assert.match(text, /npx troupe install cursor \S+ --name the-keep --token-env TROUPE_TOKEN --yes/);
  assert.match(text, /"headers":\{"Authorization":"Bearer YOUR-KEY"\}/);
  assert.match(text, /--method tools\/list --header "Authorization: Bearer YOUR-KEY"/);
});

test("the banner explains on a terminal how a client starts a stdio server", () => {
  const isInteractive = banner(facts({ addresses: { stdio: true } }), plain);
  assert.match(isInteractive, / {2}stdio {2}this process/);
  assert.match(
    isInteractive,
    /A client starts it itself:\n {2}claude mcp add the-keep -- troupe serve \/worlds\/keep\.yaml --stdio --data \/data\n/,
  );
  const spaced = banner(facts({ addresses: { stdio: true }, files: ["/my worlds/it's.yaml"] }), plain);
  assert.ok(spaced.includes("troupe serve '/my worlds/it'\\''s.yaml' --stdio"), spaced);
  assert.doesNotMatch(banner(facts({ addresses: { stdio: true }, isInteractive: false }), plain), /A client starts it itself/);
  assert.match(banner(facts({ addresses: { tcp: "tcp://127.0.0.1:4000" } }), plain), / {2}TCP {4}tcp:\/\/127\.0\.0\.1:4000/);
});

test("the banner uses the singular, and says that memory actors are not stored", () => {
  const text = banner(facts({ name: "bell", parts: [part(kind("bell", ["ring"], "memory"))], data: undefined }), plain);
  assert.match(text, /^bell is served: 1 kind of actors with 1 tool and 1 prompt\.\n/);
  assert.match(text, / {2}Data {3}none: nothing is stored on disk/);
});

const sum = (id: string) => capability(id, { intent: "Adds", execute: () => ({ sum: 0 }) });
const withCapabilities = (...ids: readonly string[]): LoadedModule => ({
  kinds: [],
  cast: [],
  indexes: [],
  capabilities: ids.map(sum),
  sources: [],
});

test("the banner counts capabilities, alone and with actors", () => {
  const first = (...parts: readonly LoadedModule[]): string => banner(facts({ parts }), plain).split("\n")[0] ?? "";
  assert.equal(first(withCapabilities("sum")), "The Keep is served: 1 capability.");
  assert.equal(first(withCapabilities("sum", "total"), withCapabilities("mean")), "The Keep is served: 3 capabilities.");
  assert.equal(
    first(part(kind("room", ["look"])), withCapabilities("sum", "total")),
    "The Keep is served: 1 kind of actors with 1 tool and 1 prompt, and 2 capabilities.",
  );
});

test("the banner counts the tools and resources of indexes", () => {
  const room = actor("room", { description: "A room.", state: z.object({ name: z.string().default("") }), tools: {} });
  const named = index(room, { pick: ["name"], uri: "rooms://named", tool: "find_rooms", description: "Rooms." });
  const unlisted = index(room, { name: "rooms-unlisted", pick: ["name"] });
  const first = (indexes: LoadedModule["indexes"], ...kinds: readonly Behaviour[]): string =>
    banner(facts({ parts: [{ ...part(...kinds), indexes }] }), plain).split("\n")[0] ?? "";
  assert.equal(
    first([named], kind("room", ["look"])),
    "The Keep is served: 1 kind of actors and 1 index with 2 tools, 1 resource and 1 prompt.",
  );
  assert.equal(first([named, unlisted]), "The Keep is served: 2 indexes with 1 tool and 1 resource.");
});

test("the banner aligns the addresses for packets with the others", () => {
  const rows = (addresses: BannerInfo["addresses"]): string =>
    banner(facts({ parts: [withCapabilities("sum")], addresses }), plain).split("\n\n")[1] ?? "";
  const packetsTcp = "tcp://127.0.0.1:3001";
  assert.equal(
    rows({ http: "http://127.0.0.1:3000/mcp", meta: "M", packets: "http://127.0.0.1:3000/packets", packetsTcp }),
    `  HTTP     http://127.0.0.1:3000/mcp
           M for clients that load the list of tools only once
  Packets  http://127.0.0.1:3000/packets
           tcp://127.0.0.1:3001, one a line
  Data     /data`,
  );
  assert.equal(rows({ stdio: true, packetsTcp }), "  Packets  tcp://127.0.0.1:3001, one a line\n  stdio    this process\n  Data     /data");
});

test("the banner writes a name in a form that command lines accept", () => {
  assert.match(banner(facts({ name: "$(rm -rf) Ünïcode 'x'" }), plain), / http rm-rf-n-code-x http:/);
  assert.match(banner(facts({ name: "???" }), plain), / http troupe http:/);
});

test("the banner mentions guests, alone or with actors", () => {
  const addresses = { theaterTcp: "tcp://127.0.0.1:9000" };
  assert.match(banner(facts({ parts: [], addresses }), plain), /^The Keep is served: WebAssembly guests\.\n/);
  assert.match(
    banner(facts({ addresses }), plain),
    /^The Keep is served: 2 kinds of actors with 3 tools and 2 prompts, and WebAssembly guests\.\n/,
  );
  const both = { http: "http://127.0.0.1:3000/mcp", meta: "http://127.0.0.1:3000/mcp/meta", theater: "http://127.0.0.1:3000/theater" };
  const alone = banner(facts({ parts: [], addresses: both }), plain);
  assert.match(alone, /claude mcp add --transport http the-keep http:\/\/127\.0\.0\.1:3000\/theater\n/);
  assert.match(alone, /--cli http:\/\/127\.0\.0\.1:3000\/theater --transport http --method tools\/list\n/);
  assert.equal(
    alone.split("\n\n")[1],
    "  Theater  http://127.0.0.1:3000/theater, over MCP\n  Data     /data",
    "it leaves out /mcp, where nothing is served",
  );
  assert.match(banner(facts({ addresses: both }), plain), /claude mcp add --transport http the-keep http:\/\/127\.0\.0\.1:3000\/mcp\n/);
});
