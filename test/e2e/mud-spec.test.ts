// The MUD on the wire, compared with each entry and shape of its specification.
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { startMud, type MudServer, type Visitor } from "../mud-server.ts";
import { saltmarsh } from "../quest-client.ts";
import { at, isJsonObject } from "../wire.ts";

const LOOK = {
  name: "look",
  description: "Examine your current surroundings",
  inputSchema: { type: "object", properties: {}, required: [] },
  annotations: { title: "Look Around", readOnlyHint: true, openWorldHint: false },
};

const MOVE = {
  name: "move",
  description: "Move to a different room",
  inputSchema: {
    type: "object",
    properties: { direction: { type: "string", enum: ["north", "south", "east", "west"], description: "Direction to move" } },
    required: ["direction"],
  },
  annotations: { title: "Move", readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
};

const PICK_UP_INPUT = {
  type: "object",
  properties: { item: { type: "string", description: "Name of the item to pick up" } },
  required: ["item"],
};

const PROMPTS = [
  {
    name: "room_description",
    description: "Get detailed description of current room and available actions",
    arguments: [{ name: "include_inventory", description: "Whether to include inventory in the description", required: false }],
  },
  { name: "quest_prompt", description: "View available quests and quest status", arguments: [] },
];

const RESOURCES = [
  {
    uri: "game://player/state",
    name: "Player State",
    description: "Current player status including location, inventory, and stats",
    mimeType: "application/json",
  },
  { uri: "game://world/map", name: "World Map", description: "Available rooms and their connections", mimeType: "application/json" },
  {
    uri: "game://room/current",
    name: "Current Room",
    description: "Detailed information about the current room",
    mimeType: "application/json",
  },
];

// The revision that the specification is written for.
const REVISION = "2025-03-26";

// A world per test, since items can be taken only once.
let mud: MudServer;
beforeEach(async () => {
  mud = await startMud();
});
afterEach(() => mud[Symbol.asyncDispose]());

const enter = (): Promise<Visitor> => mud.enter("test|ada", { version: REVISION });

const entries = async (session: Visitor, method: string, list: string): Promise<readonly unknown[]> => {
  const found = at(await session.request(method), "result", list);
  assert.ok(Array.isArray(found));
  return found;
};
const entry = async (session: Visitor, method: string, list: string, name: string): Promise<unknown> =>
  (await entries(session, method, list)).find((one) => at(one, "name") === name);
const names = async (session: Visitor, method: string, list: string): Promise<readonly unknown[]> =>
  (await entries(session, method, list)).map((one) => at(one, "name"));

const text = (result: unknown): string => String(at(result, "content", 0, "text"));
const promptText = (reply: unknown): string => String(at(reply, "result", "messages", 0, "content", "text"));

describe("the MUD's initialize", () => {
  test("declares the capabilities of the specification #gateway.initialize #spec.7.capabilities", async () => {
    await using session = await enter();
    const [reply] = session.frames;
    assert.equal(at(reply, "result", "protocolVersion"), REVISION);
    assert.deepEqual(at(reply, "result", "capabilities", "resources"), { subscribe: true, listChanged: true });
    assert.deepEqual(at(reply, "result", "capabilities", "tools"), { listChanged: true });
    assert.deepEqual(at(reply, "result", "capabilities", "prompts"), { listChanged: true });
  });
});

describe("the MUD's tools", () => {
  test("look and move are listed exactly as the specification defines them #mud.definitions #spec.2.discovery #spec.2.look #spec.2.move", async () => {
    const session = await enter();
    assert.deepEqual(await entry(session, "tools/list", "tools", "look"), LOOK);
    assert.deepEqual(await entry(session, "tools/list", "tools", "move"), MOVE);
  });

  test("pick_up has the specified argument, whose values are the items in the room #spec.2.pick-up", async () => {
    const session = await enter();
    const schema = at(await entry(session, "tools/list", "tools", "pick_up"), "inputSchema");
    assert.deepEqual(at(schema, "properties", "item", "enum"), ["torch"]);
    assert.deepEqual(JSON.parse(JSON.stringify(schema, (key, value: unknown) => (key === "enum" ? undefined : value))), PICK_UP_INPUT);
    assert.equal(at(await entry(session, "tools/list", "tools", "pick_up"), "annotations", "readOnlyHint"), false);
    assert.equal(at(await entry(session, "tools/list", "tools", "pick_up"), "annotations", "destructiveHint"), false);
  });

  test("every tool has an object schema, a description and annotations #mud.definitions #spec.2.approval #spec.6.clear-ui #spec.8.input-schema", async () => {
    const session = await enter();
    for (const tool of await entries(session, "tools/list", "tools")) {
      assert.equal(at(tool, "inputSchema", "type"), "object", JSON.stringify(tool));
      assert.ok(String(at(tool, "description")).length > 3);
      assert.equal(typeof at(tool, "annotations", "title"), "string");
      assert.equal(typeof at(tool, "annotations", "readOnlyHint"), "boolean");
    }
  });

  test("look returns one text block that describes the room and its exits #spec.2.look #spec.8.content", async () => {
    const session = await enter();
    const result = await session.call("look");
    assert.equal(at(result, "content", 0, "type"), "text");
    assert.match(text(result), /^You are at the dungeon entrance\. Stone walls stretch up into darkness\. .*Exits: North\./);
  });

  test("an impossible move is a tool error that states the reason #spec.2.move.invalid #spec.2.errors #spec.7.error-messages #spec.8.errors", async () => {
    const session = await enter();
    const result = await session.call("move", { direction: "west" });
    assert.equal(at(result, "isError"), true);
    assert.match(text(result), /^Error: Cannot move west - .+\.$/);
    const nowhere = await session.call("move", { direction: "up" });
    assert.equal(at(nowhere, "isError"), true);
    assert.match(text(nowhere), /direction: must be one of north, south, east, west/);
    assert.equal(at(await session.call("move"), "isError"), true);
    assert.equal(at(await session.read("game://player/state"), "room"), "entrance");
  });

  test("battle without a monster is a tool error: No enemies here #spec.2.battle.none #spec.2.errors", async () => {
    const session = await enter();
    const result = await session.call("battle");
    assert.deepEqual([at(result, "isError"), text(result)], [true, "No enemies here"]);
  });

  test("an unknown tool is a protocol error, not a tool error #spec.7.errors #spec.7.error-format #spec.8.errors", async () => {
    const session = await enter();
    const reply = await session.request("tools/call", { name: "fly", arguments: {} });
    assert.equal(at(reply, "error", "code"), -32602);
  });

  test("battle, flee, open_chest and accept_quest are listed if they are possible #mud.tools.accept-quest #spec.2.battle.destructive #spec.5.tools.battle #spec.5.tools.context", async () => {
    const session = await enter();
    const listed = async (tool: string): Promise<boolean> => (await names(session, "tools/list", "tools")).includes(tool);
    for (const tool of ["battle", "flee", "open_chest", "accept_quest", "drop", "use", "give"])
      assert.equal(await listed(tool), false, tool);
    await session.call("pick_up", { item: "torch" });
    for (const tool of ["drop", "use"]) assert.equal(await listed(tool), true, tool);
    await session.go("north");
    assert.equal(await listed("accept_quest"), true);
    await session.go("east", "south");
    assert.equal(await listed("battle"), true);
    assert.equal(await listed("flee"), false, "the fight has not begun");
    assert.equal(at(await entry(session, "tools/list", "tools", "battle"), "annotations", "destructiveHint"), true);
    await session.call("battle");
    assert.equal(await listed("flee"), at(await session.read("game://player/state"), "monsterPresent") === true);
  });
});

test("open_chest is listed in a room with a closed chest, and all players there are notified when it opens", async () => {
  await using shore = await startMud({ world: saltmarsh.world });
  await using ada = await shore.enter("test|ada");
  await using bob = await shore.enter("test|bob");
  for (const visitor of [ada, bob]) {
    await visitor.go("east", "north");
    assert.equal((await names(visitor, "tools/list", "tools")).includes("open_chest"), false);
    await visitor.go("east");
    assert.ok((await names(visitor, "tools/list", "tools")).includes("open_chest"));
  }
  await shore.quiet();
  const before = bob.heard.length;
  const opened = await ada.call("open_chest");
  assert.match(text(opened), /You open the Fish Crate\. In it: /);
  await shore.quiet();
  assert.deepEqual(
    bob.heard.slice(before).filter((method) => method === "notifications/tools/list_changed"),
    ["notifications/tools/list_changed"],
  );
  for (const visitor of [ada, bob]) {
    assert.equal((await names(visitor, "tools/list", "tools")).includes("open_chest"), false);
    assert.deepEqual(
      [at(await visitor.call("open_chest"), "isError"), text(await visitor.call("open_chest"))],
      [true, "The chest is open already."],
    );
  }
});

describe("the MUD's prompts", () => {
  test("are listed as the specification defines them, quest_prompt once a quest is offered #spec.3.discovery #spec.3.quest-prompt #spec.3.arguments", async () => {
    const session = await enter();
    assert.deepEqual(await entry(session, "prompts/list", "prompts", "room_description"), PROMPTS[0]);
    assert.equal(await entry(session, "prompts/list", "prompts", "quest_prompt"), undefined);
    assert.equal(await entry(session, "prompts/list", "prompts", "battle_prompt"), undefined);
    await session.go("north");
    assert.deepEqual(await entry(session, "prompts/list", "prompts", "quest_prompt"), PROMPTS[1]);
    const help = await entry(session, "prompts/list", "prompts", "game_help");
    assert.deepEqual(at(help, "description"), "Get help for specific game aspects");
    assert.deepEqual(
      [0, 1].map((index) => [at(help, "arguments", index, "name"), at(help, "arguments", index, "required")]),
      [
        ["topic", true],
        ["detail_level", false],
      ],
    );
  });

  test("room_description contains the room, and the inventory on request #mud.prompts.room #spec.3.room-description #spec.8.prompts", async () => {
    const session = await enter();
    const get = (args: object): Promise<unknown> => session.request("prompts/get", { name: "room_description", arguments: args });
    await session.call("pick_up", { item: "torch" });
    const plain = await get({});
    assert.equal(at(plain, "result", "description"), "Detailed room description with current game state");
    assert.equal(at(plain, "result", "messages", 0, "role"), "user");
    assert.equal(at(plain, "result", "messages", 0, "content", "type"), "text");
    assert.doesNotMatch(String(at(plain, "result", "messages", 0, "content", "text")), /Inventory/);
    assert.match(promptText(await get({ include_inventory: "true" })), /\n\nInventory: torch$/);
    assert.doesNotMatch(promptText(await get({ include_inventory: "false" })), /Inventory/);
    // The specification's own example sends a boolean.
    assert.match(promptText(await get({ include_inventory: true })), /\n\nInventory: torch$/);
  });

  test("quest_prompt contains the offer, then the progress #mud.prompts.quest #spec.1.has-quest #spec.1.updates #spec.3.quest-prompt.content #spec.5.prompts.quest", async () => {
    const session = await enter();
    await session.go("north");
    const questPrompt = (): Promise<unknown> => session.request("prompts/get", { name: "quest_prompt", arguments: {} });
    assert.equal(at(await questPrompt(), "result", "description"), "Current quest information and opportunities");
    assert.equal(
      at(await questPrompt(), "result", "messages", 0, "content", "text"),
      "A weathered note on the wall describes an ancient treasure hidden deep in the dungeon. The quest involves finding three magical keys and defeating the guardian. Do you wish to accept this quest?",
    );
    await session.call("accept_quest");
    const active = promptText(await questPrompt());
    assert.match(active, /active/);
    for (const part of ["Rusty Key", "Bone Key", "Moon Key", "Stone Guardian"]) assert.match(active, new RegExp(part));
    assert.equal(at(await session.read("game://player/state"), "hasQuest"), true);
  });

  test("battle_prompt is listed near a monster, and describes the effect of each carried item #mud.prompts.battle #spec.3.battle-prompt #spec.3.battle-prompt.context #spec.3.battle-prompt.content #spec.5.prompts.battle", async () => {
    const session = await enter();
    const away = await session.request("prompts/get", { name: "battle_prompt", arguments: {} });
    assert.ok(at(away, "error") !== undefined);
    await session.call("pick_up", { item: "torch" });
    await session.go("north", "east", "south");
    assert.ok((await names(session, "prompts/list", "prompts")).includes("battle_prompt"));
    const here = await session.request("prompts/get", { name: "battle_prompt", arguments: {} });
    const prompt = String(at(here, "result", "messages", 0, "content", "text"));
    assert.match(prompt, /Cave Goblin: health 45 of 45/);
    assert.match(prompt, /You: health 100 of 100/);
    assert.match(prompt, /Torch: no help in a fight/);
  });

  test("game_help requires a known topic, and completes it #mud.prompts.help #spec.3.validation #spec.7.validation.uris #spec.8.prompts", async () => {
    const session = await enter();
    const help = (args: object) => session.request("prompts/get", { name: "game_help", arguments: args });
    for (const topic of ["combat", "navigation", "inventory"]) {
      const basic = String(at(await help({ topic }), "result", "messages", 0, "content", "text"));
      const advanced = String(at(await help({ topic, detail_level: "advanced" }), "result", "messages", 0, "content", "text"));
      assert.ok(basic.length > 40 && advanced.startsWith(basic) && advanced.length > basic.length, topic);
    }
    assert.equal(at(await help({}), "error", "code"), -32602);
    assert.equal(at(await help({ topic: "weather" }), "error", "code"), -32602);
    const completed = await session.request("completion/complete", {
      ref: { type: "ref/prompt", name: "game_help" },
      argument: { name: "topic", value: "co" },
    });
    assert.deepEqual(at(completed, "result", "completion", "values"), ["combat"]);
  });
});

describe("the MUD's resources", () => {
  test("are listed as the specification defines them #spec.4.discovery #spec.8.uris", async () => {
    const listed = await entries(await enter(), "resources/list", "resources");
    assert.deepEqual(listed.slice(0, 3), RESOURCES);
  });

  test("the player's state has exactly the specified fields #mud.resources.state #spec.1.player-id #spec.4.player-state #spec.4.reading", async () => {
    const state = await (await enter()).read("game://player/state");
    assert.ok(isJsonObject(state));
    const { player_id, ...rest } = state;
    assert.ok(typeof player_id === "string" && player_id.length > 0);
    assert.deepEqual(rest, { room: "entrance", inventory: [], health: 100, hasQuest: false, monsterPresent: false });
  });

  test("the state reflects the player's actions, and the map what was discovered #mud.resources.map #spec.1.room #spec.1.inventory #spec.1.monster-present #spec.4.room-current #spec.5.resources.state #spec.5.resources.map #spec.8.uris", async () => {
    const session = await enter();
    await session.call("pick_up", { item: "torch" });
    await session.go("north", "east", "south");
    const state = await session.read("game://player/state");
    assert.deepEqual([at(state, "room"), at(state, "inventory"), at(state, "monsterPresent")], ["cellar", ["torch"], true]);
    const rooms = at(await session.read("game://world/map"), "rooms");
    assert.ok(Array.isArray(rooms));
    assert.deepEqual(
      rooms.map((room) => at(room, "id")),
      ["entrance", "hallway", "chamber", "cellar"],
    );
    const room = await session.read("game://room/current");
    assert.deepEqual([at(room, "id"), at(room, "monster", "id")], ["cellar", "cave_goblin"]);
  });

  test("an unknown resource is a protocol error #spec.7.errors #spec.7.validation.uris #spec.8.errors", async () => {
    const reply = await (await enter()).request("resources/read", { uri: "game://player/secrets" });
    assert.equal(at(reply, "error", "code"), -32002);
  });
});
