// Five specifications in one process: the same actors, one history.
import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { kinds } from "../../examples/all/served.ts";
import { reexecute } from "../../src/core/chain/index.ts";
import { sqliteStore } from "../../src/core/store/index.ts";
import { until } from "../../src/testing/index.ts";
import { lines, troupe } from "../cli/run.ts";
import { CLIENTS, type Player } from "../clients.ts";
import { agree, causeOf, HERE, SERVICE, STATE, notifiedSince } from "./views.ts";
import { messageBytes, base64, startExample, type RunningExample, within } from "./running-example.ts";

const [V1, , MODERN] = CLIENTS;
const FOLLOWED = [HERE, SERVICE, STATE];

interface Door {
  readonly name: string;
  /** Rejects, or returns the refusal's text, if it is refused. */
  move(direction: string): Promise<unknown>;
  battle(): Promise<string>;
  /** The caller's data in the first event of a move. */
  readonly left: { readonly principal?: string; readonly trace?: unknown };
}

const wordsOf = (failure: unknown): string => (failure instanceof Error ? failure.message : String(failure));

async function called(client: Player, tool: string, args: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { text, isError } = await client.call(tool, args);
  if (isError) throw new Error(text);
  return text;
}

/** Every transport to the player ada. */
function doorsOf(whole: RunningExample, old: Player, modern: Player): readonly Door[] {
  const ofMcp = (name: string, client: Player, tool: (name: string) => string, left: Door["left"]): Door => ({
    name,
    move: (direction) => called(client, tool("move"), { direction }),
    battle: () => called(client, tool("battle")).catch(wordsOf),
    left,
  });
  const ofPackets = (door: "packets" | "packetsTcp"): Door => {
    const trace_id = `by ${door}`;
    const send = async (payload: Readonly<Record<string, string>>): Promise<unknown> => {
      using client = whole.packets("ada", door);
      return await client.request("player", payload, { context: { trace_id } });
    };
    return {
      name: door,
      move: (direction) => send({ tool: "move", direction }),
      battle: async () => wordsOf(await send({ tool: "battle" }).catch((error: unknown) => error)),
      left: { principal: "ada", trace: { trace_id } },
    };
  };
  const request = (client: Player, tool: string, args: object): Promise<string> =>
    called(client, "request_message", { actor_id: "player/ada", data: base64(messageBytes(tool, args)) });
  const overTcp = async (tool: string, args: object): Promise<unknown> => {
    await using stage = whole.stage();
    const { id } = (await stage.list(100)).find(({ name }) => name === "player/ada") ?? assert.fail("ada is on no stage");
    return await stage.request(id, messageBytes(tool, args), AbortSignal.timeout(30_000));
  };
  return [
    ofMcp("MCP, legacy", old, (name) => name, { principal: "ada" }),
    ofPackets("packets"),
    ofMcp("MCP, modern", modern, (name) => name, { principal: "ada" }),
    ofPackets("packetsTcp"),
    ofMcp("AgenticService", old, (name) => `hero.room.${name}`, { principal: "ada" }),
    {
      name: "Theater over MCP",
      move: (direction) => request(modern, "move", { direction }),
      battle: () => request(modern, "battle", {}).catch(wordsOf),
      left: {},
    },
    {
      name: "Theater over TCP",
      move: (direction) => overTcp("move", { direction }),
      battle: async () => wordsOf(await overTcp("battle", {}).catch((error: unknown) => error)),
      left: {},
    },
    {
      name: "a capability as a tool",
      move: (direction) => called(modern, "walk", { direction }),
      battle: async () => "No enemies here: it only walks.",
      left: { principal: "ada", trace: "its own" },
    },
  ];
}

/** All chains verify, and replay to the same states. */
async function holds(data: string): Promise<void> {
  const verified = await troupe("verify", "--data", data);
  assert.equal(verified.code, 0, verified.stderr);
  const listed = lines((await troupe("actors", "--json", "--data", data)).stdout).map((one) => String(within(one, "id")));
  assert.match(verified.stdout, new RegExp(`^${listed.length} actors, \\d+ events, 0 broken`));
  for (const kind of ["player", "room", "names", "roster", "guest"])
    assert.ok(
      listed.some((id) => id.startsWith(`${kind}/`)),
      `${kind} of ${listed.join(", ")}`,
    );
  const byCommand = async (id: string): Promise<void> => {
    const again = id.startsWith("guest/")
      ? await troupe("guests", "check", id, "--data", data)
      : await troupe("replay", id, "--module", "examples/all", "--data", data);
    assert.equal(again.code, 0, `${id}: ${again.stderr}`);
    assert.match(again.stdout, /(was|were) run again/, id);
  };
  // One actor of each kind by the command, since a process per room takes too long.
  const first = new Map(listed.toReversed().map((id) => [id.split("/")[0], id]));
  await Promise.all([...first.values()].map(byCommand));
  await using store = sqliteStore({ directory: data, readOnly: true });
  for (const kind of kinds)
    for (const { id } of await store.list({ kind: kind.kind, limit: 1_000 })) {
      const { run, mismatches } = reexecute(kind, await store.events(id, 0, 100_000));
      assert.ok(run > 0, id);
      assert.deepEqual(mismatches, [], id);
    }
}

void test("a player moved through each transport has one history, consistent views, and notified observers #whole.one", async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), "troupe-all-"));
  const { path: data } = directory;
  let last = "";
  {
    await using whole = await startExample(data);
    await using old = await whole.enter("ada", V1);
    await using modern = await whole.enter("ada", MODERN);
    await using bob = await whole.enter("bob", V1);
    await seesAll(old);
    await seesAll(modern);
    await seesNoTheater(bob);

    // Both players start, and ada leaves the room.
    await called(bob, "say", { text: "Hello?" });
    await called(bob, "choose_name", { name: "Bob" });
    await called(old, "move", { direction: "north" });
    await agree(modern, "hallway");
    await bob.subscribe(HERE);
    await bob.subscribe("game://room/log");
    for (const uri of FOLLOWED) await old.subscribe(uri);
    await modern.listen({ toolsListChanged: true, resourceSubscriptions: FOLLOWED });
    const alone = bob.heard.length;

    const doors = doorsOf(whole, old, modern);
    for (const [turn, door] of doors.entries()) {
      const [direction, room] = turn % 2 === 0 ? ["east", "chamber"] : ["west", "hallway"];
      const before = [old.heard.length, modern.heard.length] as const;
      await door.move(direction);
      await agree(modern, room);
      for (const [which, client] of [old, modern].entries())
        await until(`${client.name} was notified of the move by ${door.name}`, () => {
          const news = notifiedSince(client, before[which] ?? 0);
          return [...FOLLOWED, "notifications/tools/list_changed"].every((one) => news.has(one));
        });
      last = room;
    }

    await oneEventPerMove(modern, doors);
    await refusedAlike(modern, doors);

    // His first notification since then is of his own action: one stream preserves the order.
    await called(bob, "say", { text: "Anybody?" });
    await until("bob hears himself", () => notifiedSince(bob, alone).has("game://room/log"));
    assert.deepEqual(
      [...notifiedSince(bob, alone)].filter((one) => one !== "game://room/log" && one !== HERE),
      [],
    );
    const quiet = bob.heard.length;
    await called(old, "move", { direction: "south" });
    await until("bob sees who comes in", () => notifiedSince(bob, quiet).has(HERE) && notifiedSince(bob, quiet).has("game://room/log"));
    last = "entrance";
    await guestCounts(modern, old);
    assert.match(await called(old, "signpost", { room: "hallway" }), /south, east/);

    whole.running.child.kill("SIGTERM");
    assert.equal(await whole.running.ended, 0, whole.running.err());
  }
  await holds(data);

  await using again = await startExample(data);
  await using later = await again.enter("ada", V1);
  await agree(later, last);
  const { structured } = await later.call("request_message", { actor_id: "guest/counter", data: base64(new Uint8Array([63])) });
  assert.equal(within(structured, "response_text"), "1");
});

async function seesAll(client: Player): Promise<void> {
  const tools = new Set((await client.tools()).map(({ name }) => name));
  for (const name of ["look", "move", "walk", "hero.choose_name", "request_message", "get_events", "signpost"])
    assert.ok(tools.has(name), `${client.name}: ${name}`);
  const resources = new Set(await client.resources());
  for (const uri of [HERE, "theater://actors", "packetflow://actors"]) assert.ok(resources.has(uri), `${client.name}: ${uri}`);
  assert.ok((await client.templates()).includes("theater://actor/{actor_id}/state"));
}

/** A caller that is not an operator sees no stage, and cannot reach one. */
async function seesNoTheater(client: Player): Promise<void> {
  assert.ok((await client.tools()).every(({ name }) => name !== "request_message"));
  assert.ok((await client.resources()).every((uri) => !uri.startsWith("theater:")));
  await assert.rejects(client.read(STATE));
  await assert.rejects(client.call("list_actors"), /[Uu]nknown tool/);
}

/** Moves have events in order, each caused by the room's turn in which a caller acted as ada. */
async function oneEventPerMove(client: Player, doors: readonly Door[]): Promise<void> {
  const listed = within(JSON.parse(await client.read("theater://actors")), "actors");
  assert.ok(Array.isArray(listed) && listed.some((one) => within(one, "name") === "player/ada"));
  const { structured } = await client.call("get_events", { actor_id: "player/ada" });
  const events = within(structured, "events");
  assert.ok(Array.isArray(events));
  // The first one moved her out of bob's room.
  const arrivals = events.filter((event) => within(event, "data.action") === "arrived").slice(1);
  assert.equal(arrivals.length, doors.length);
  for (const [turn, { name, left }] of doors.entries()) {
    const arrival: unknown = arrivals[turn];
    assert.equal(within(arrival, "data.message.args.room"), turn % 2 === 0 ? "chamber" : "hallway", name);
    const first = await causeOf(client, arrival);
    assert.equal(within(first, "data.action"), "tools/move", name);
    assert.equal(within(first, "data.message.viewer.self"), "player/ada", name);
    assert.equal(within(first, "data.message.viewer.principal"), left.principal, name);
    const trace = within(first, "data.message.trace");
    if (left.trace === "its own") assert.match(String(within(trace, "trace_id")), /^[0-9a-f]{32}$/);
    else assert.deepEqual(trace, left.trace, name);
  }
}

/** Every transport gets the same refusal of a battle without an enemy, and no event is written. */
async function refusedAlike(client: Player, doors: readonly Door[]): Promise<void> {
  const heads = async (): Promise<string> => client.read("theater://events/player%2Fada");
  const before = await heads();
  for (const door of doors) {
    const words = await door.battle();
    // A service lists only available actions.
    assert.match(words, door.name === "AgenticService" ? /[Uu]nknown tool/ : /No enemies here/, door.name);
  }
  assert.equal(await heads(), before);
}

/** The guest is called like the others, and notifies its own subscribers. */
async function guestCounts(client: Player, watcher: Player): Promise<void> {
  const uri = "theater://actor/counter/state";
  await watcher.subscribe(uri);
  const before = watcher.heard.length;
  await called(client, "send_message", { actor_id: "counter", data: base64(new TextEncoder().encode("add")) });
  await until("the guest has counted", async () => /1/.test(await client.read(uri)));
  await until("the watcher was notified", () => notifiedSince(watcher, before).has(uri));
}

void test("a server killed after it acknowledged moves has all of them #whole.one", async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), "troupe-all-"));
  const { path: data } = directory;
  {
    await using whole = await startExample(data);
    using ada = whole.packets("ada", "packets");
    for (const direction of ["north", "east", "west", "east"]) await ada.request("player", { tool: "move", direction });
    whole.running.child.kill("SIGKILL");
    await whole.running.ended;
  }
  await holds(data);
  await using again = await startExample(data);
  await using ada = await again.enter("ada", MODERN);
  await agree(ada, "chamber");
  await called(ada, "walk", { direction: "west" });
  await agree(ada, "hallway");
});
