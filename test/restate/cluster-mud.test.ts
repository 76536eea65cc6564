// The MUD on two nodes, played by official clients who meet in it.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { mud } from "../../examples/mud/index.ts";
import type { World } from "../../examples/mud/world/world.ts";
import { verify } from "../../src/core/chain/index.ts";
import type { ChainEvent, Engine } from "../../src/core/contract/index.ts";
import { isRestateSdk, RestateEngine } from "../../src/hosts/restate/index.ts";
import { until } from "../../src/testing/index.ts";
import { misplaced as misplacedIn } from "../mud-items.ts";
import { connect, type Player, type ElicitAnswer, type Which } from "../clients.ts";
import { playToEnding, folder, keep, withoutHandle } from "../quest-client.ts";
import { root } from "../serve-child.ts";
import { at } from "../wire.ts";
import { ClusterPlace } from "./cluster-place.ts";
import { install } from "./install.ts";
import { RestateServer } from "./restate-server.ts";

const V1: Which = { sdk: "v1", era: "legacy" };
const MODERN: Which = { sdk: "v2", era: "modern" };
const ROOM = "game://room/current";
const YES: ElicitAnswer = { action: "accept", content: { confirm: true } };
const NAMES = ["ada", "bob"];

const bearer = (name: string) => ({ authorization: `Bearer a-key-of-${name}-that-is-long` });
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Items that are not in exactly one place, with where they are; one that is on its way from one to another is nowhere. */
const misplaced = async (engine: Engine, world: World): Promise<readonly string[]> =>
  misplacedIn(world, {
    state: async (id) => (await engine.read(id))?.state,
    players: (await engine.list({ kind: "player", limit: 1_000 })).map(({ id }) => id),
  });

/** The message of a request: undefined where it has none. */
const messageOf = (init: RequestInit | undefined): unknown => (typeof init?.body === "string" ? JSON.parse(init.body) : undefined);

const does = async (player: Player, tool: string, args: Record<string, unknown> = {}): Promise<void> => {
  const { isError, text } = await player.call(tool, args);
  assert.equal(isError, false, `${player.name}, ${tool}: ${text}`);
};

/** What that player is told from now on. */
const hearing = (player: Player) => {
  const from = player.heard.length;
  const heard = (method: string, uri?: string): boolean =>
    player.heard.slice(from).some((one) => one.method === method && (uri === undefined || one.params["uri"] === uri));
  const ofRoom = (): boolean => heard("notifications/resources/updated", ROOM);
  return {
    ofRoom,
    async ofBoth(): Promise<void> {
      await until(`${player.name} is told that its tools have changed`, () => heard("notifications/tools/list_changed"));
      await until(`${player.name} is told that its room has changed`, ofRoom);
    },
  };
};

/** What changes just before a listener's node has taken its first look is in that look: it listens once it was told of something. */
const listens = async (player: Player, beside: Player): Promise<void> => {
  const { ofRoom } = hearing(player);
  let held = false;
  await until(`${player.name} listens`, async () => {
    // What lies in the room is what the resource shows; what is said there is not.
    await does(beside, held ? "drop" : "pick_up", { item: "torch" });
    held = !held;
    return ofRoom();
  });
  if (held) await does(beside, "drop", { item: "torch" });
  await until(`${player.name} sees the torch`, async () => /"torch"/.test(await player.read(ROOM)));
};

const mayPickUp = async (player: Player): Promise<unknown> =>
  at(
    (await player.tools()).find(({ name }) => name === "pick_up"),
    "inputSchema",
    "properties",
    "item",
    "enum",
  );

test("two official clients play the MUD through two nodes: they see each other, are asked at one and heard at the other, one comes to its ending, and no item is lost #cluster.clients.any-node", async (t) => {
  const { server: executable, sdk } = await install();
  assert.ok(isRestateSdk(sdk));
  using files = folder();
  const keys = join(files.path, "keys.json");
  writeFileSync(keys, JSON.stringify(Object.fromEntries(NAMES.map((name) => [name, sha256(`a-key-of-${name}-that-is-long`)]))));
  await using server = await RestateServer.start(executable);
  const { ingress, admin } = server;
  await using place = await ClusterPlace.open(
    { ingresses: [ingress], admins: [admin], register: (url) => server.register(url) },
    { modules: [join(root, keep.module)], nodes: 2, more: ["--rate", "0", "--lists", "dynamic", "--api-keys", keys] },
  );
  const urls = place.nodes.map(({ http }) => http);
  const [one = "", other = ""] = urls;

  // She says at another node what she is asked at hers; he goes to another with every request.
  let saidElsewhere = 0;
  let requests = 0;
  const hers = (url: string | URL, init?: RequestInit): Promise<Response> => {
    const message = messageOf(init);
    const isAnswer = at(message, "id") !== undefined && at(message, "method") === undefined;
    if (isAnswer) saidElsewhere += 1;
    return fetch(isAnswer ? other : url, init);
  };
  let calls = 0;
  const his = (_: string | URL, init?: RequestInit): Promise<Response> => {
    const turn = at(messageOf(init), "method") === "tools/call" ? (calls += 1) : (requests += 1);
    return fetch(urls[turn % urls.length] ?? "", init);
  };
  let declined = 0;
  const no = (): ElicitAnswer => {
    declined += 1;
    return { action: "decline" };
  };
  try {
    await using ada = await connect({ http: one }, V1, { headers: bearer("ada"), fetch: hers, elicit: () => YES });
    await using bob = await connect({ http: other }, MODERN, { headers: bearer("bob"), fetch: his, elicit: no });
    for (const player of [ada, bob]) await does(player, "say", { text: "hello" });
    for (const player of [ada, bob]) assert.deepEqual(await mayPickUp(player), ["torch"]);
    await ada.subscribe(ROOM);
    await bob.listen({ toolsListChanged: true, resourceSubscriptions: [ROOM] });
    await listens(ada, bob);
    await listens(bob, ada);

    const bobHears = hearing(bob);
    await does(ada, "pick_up", { item: "torch" });
    await bobHears.ofBoth();
    assert.equal(await mayPickUp(bob), undefined);
    assert.doesNotMatch(await bob.read(ROOM), /"torch"/);
    await does(ada, "drop", { item: "torch" });
    await until("he sees it again", async () => /"torch"/.test(await bob.read(ROOM)));
    const adaHears = hearing(ada);
    await does(bob, "pick_up", { item: "torch" });
    await adaHears.ofBoth();
    assert.equal(await mayPickUp(ada), undefined);

    // The goblin is in a dark cellar.
    for (const direction of ["north", "east", "south"]) await does(bob, "move", { direction });
    const before = calls;
    assert.equal((await bob.call("battle")).isError, true, "he would rather not");
    assert.deepEqual([declined, calls - before], [1, 2], "he was asked at one node and heard at the other");
    for (const direction of ["north", "west", "south"]) await does(bob, "move", { direction });
    await does(bob, "drop", { item: "torch" });

    await playToEnding(keep.world, withoutHandle(ada), "ada");
    assert.ok(saidElsewhere > 0, "she was asked, and answered at the other node");
    assert.match(await bob.read(ROOM), /"id":"entrance"/);

    await using engine = await RestateEngine.start({
      ingress,
      admin,
      sdk,
      kinds: mud(keep.world),
      secret: Buffer.from(place.secret, "hex"),
    });
    await until("every item is in one place", async () => (await misplaced(engine, keep.world)).length === 0);
    for (const { id } of await engine.list({ limit: 1_000 })) {
      const events: ChainEvent[] = [];
      for await (const event of engine.history(id)) events.push(event);
      assert.equal(verify(events, { actor: id }).flaw, undefined, id);
    }
  } catch (error) {
    for (const line of place.log) t.diagnostic(line);
    throw error;
  }
});
