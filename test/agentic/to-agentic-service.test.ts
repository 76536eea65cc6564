// A Troupe actor as the library's own consumers, and our own, take it.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Observe } from "@adobe/data/observe";
import { AgenticService } from "@adobe/data/service";
import * as z from "zod";
import { actor, blob, refuse } from "../../src/core/actor/index.ts";
import { fromAgenticService, isAgenticService, toAgenticService } from "../../src/bridges/agentic/index.ts";
import { type ActorId, BLOB, CONTENT, type Viewer } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { listed } from "../../src/mcp/source/index.ts";

const viewer: Viewer = { principal: "ana", scopes: [] };

const room = actor("room", {
  description: "A room.",
  per: "link",
  persistence: "memory",
  state: z.object({ lit: z.boolean().default(false) }),
  tools: {
    light: {
      description: "Lights the lamp.",
      enabled: ({ state }) => !state.lit,
      run({ state }) {
        state.lit = true;
      },
    },
  },
  resources: { lamp: { uri: "room://{alias}/lamp", view: ({ state }) => state.lit } },
  links: { door: { kinds: ["door"], to: () => doorId } },
});

const door = actor("door", {
  description: "A door.",
  persistence: "memory",
  state: z.object({ open: z.boolean().default(false), locked: z.boolean().default(true) }),
  tools: {
    open: {
      description: "Open it.",
      enabled: ({ state }) => !state.open,
      run({ state }) {
        if (state.locked) refuse("It is locked.");
        state.open = true;
        return "It creaks open.";
      },
    },
    unlock: {
      description: "Unlock it.",
      input: z.object({ turns: z.int().min(1) }),
      run({ state, args }) {
        state.locked = false;
        return { turned: args.turns };
      },
    },
    look: { description: "Look.", view: ({ state }) => ({ open: state.open }) },
    wipe: { description: "Wipe it.", confirm: "Sure?", run: () => undefined },
  },
  resources: {
    state: { uri: "door://{alias}/state", description: "How it stands.", view: ({ state }) => state },
    part: { uri: "door://{alias}/part/{name}", view: ({ args }) => args.name },
  },
  links: { room: { kinds: ["room"], to: () => room.id("hall") } },
});
const doorId: ActorId = door.id("front");

async function stage() {
  const engine = await LocalEngine.start({ kinds: [door, room] });
  for (const to of [doorId, room.id("hall")]) await engine.call({ to, action: "troupe/begin", args: null, viewer, start: null });
  const ref = { engine, kinds: [door, room], id: doorId, viewer };
  return { engine, ref };
}

/** The next value that fits. */
const until = <T>(observe: Observe<T>, fits: (value: T) => boolean): Promise<T> =>
  new Promise((resolve) => {
    const undo = observe((value) => {
      if (!fits(value)) return;
      resolve(value);
      queueMicrotask(() => undo());
    });
  });

describe("toAgenticService", () => {
  it("shows an actor's states, actions and links, and acts through its turns #agentic.actor", async () => {
    const { engine, ref } = await stage();
    await using _engine = engine;
    const service: AgenticService = toAgenticService(ref);
    assert.ok(isAgenticService(service));
    assert.equal(service.serviceName, "door");
    const states = await until(service.states, () => true);
    assert.deepEqual(Object.keys(states), ["state"]);
    assert.deepEqual(states["state"]?.value, { open: false, locked: true });
    assert.equal(states["state"]?.schema.description, "How it stands.");
    const actions = await until(service.actions, () => true);
    assert.deepEqual(Object.keys(actions).toSorted(), ["look", "open", "unlock", "wipe"]);
    assert.deepEqual(actions["open"]?.parameters, []);
    assert.equal(actions["unlock"]?.parameters.length, 1);
    assert.equal(await service.execute("open", undefined), "It is locked.", "a refusal is an error as text");
    assert.match(String(await service.execute("unlock", { turns: 0 })), /turns/);
    assert.deepEqual(await actions["unlock"]?.execute({ turns: 2 }), { turned: 2 });
    const opened = until(service.actions, (map) => !("open" in map));
    assert.deepEqual(await service.execute("open", undefined), { text: "It creaks open." }, "text alone would be an error");
    assert.deepEqual(Object.keys(await opened).toSorted(), ["look", "unlock", "wipe"]);
    assert.equal(await service.execute("open", undefined), 'Action "open" is not available');
    assert.equal(await service.execute("constructor", undefined), 'Action "constructor" is not available');
    assert.deepEqual(await service.execute("look", undefined), { open: true });
    assert.equal(await service.execute("wipe", undefined), undefined, "a client that cannot be asked has its own way to ask");
    assert.equal((await engine.read(doorId))?.seq, 3);
  });

  it("shows other actors as links, and the same actor as the same object, so that circles end #agentic.actor", async () => {
    const { engine, ref } = await stage();
    await using _engine = engine;
    const service: AgenticService = toAgenticService(ref);
    assert.ok(service.links);
    const { room: hall } = await until(service.links, () => true);
    assert.ok(hall?.links);
    assert.equal((await until(hall.links, () => true))["door"], service);
    assert.deepEqual((await until(hall.states, () => true))["lamp"]?.value, false);
    const lit = until(hall.states, (map) => map["lamp"]?.value === true);
    assert.equal(await hall.execute("light", undefined), undefined);
    await lit;
  });

  it("hands on the arguments of tools whose schema names no properties", async () => {
    const side = z.discriminatedUnion("side", [z.object({ side: z.literal("left"), by: z.int() }), z.object({ side: z.literal("right") })]);
    const open = actor("open", {
      description: "Takes much.",
      persistence: "memory",
      state: z.object({}),
      tools: {
        turn: { description: "Turn.", input: side, run: ({ args }) => ({ args }) },
        count: { description: "Count.", input: z.record(z.string(), z.number()), run: ({ args }) => ({ args }) },
        note: {
          description: "Note.",
          input: { type: "object", patternProperties: { "^x": { type: "number" } } },
          run: ({ args }) => ({ args }),
        },
        rest: { description: "Rest.", run: () => ({ args: null }) },
        halt: { description: "Halt.", input: z.strictObject({}), run: ({ args }) => ({ args }) },
      },
    });
    await using engine = await LocalEngine.start({ kinds: [open] });
    const id = open.id("one");
    await engine.call({ to: id, action: "troupe/begin", args: null, viewer, start: null });
    const service = toAgenticService({ engine, kinds: [open], id, viewer });
    const actions = await until(service.actions, () => true);
    assert.deepEqual(
      Object.entries(actions).map(([name, { parameters }]) => [name, parameters.length]),
      Object.entries({ turn: 1, count: 1, note: 1, rest: 0, halt: 0 }),
    );
    using source = fromAgenticService(service);
    for (const [name, given] of Object.entries({ turn: { side: "left", by: 2 }, count: { a: 1 }, note: { x: 1 } })) {
      assert.deepEqual(await service.execute(name, given), { args: given });
      assert.deepEqual(await source.act(viewer, `tools/${name}`, given, {}), { ok: { args: given } });
    }
  });

  it("shows bytes as bytes and text as what it is, which are served again as they were", async () => {
    const shelf = actor("shelf", {
      description: "A shelf.",
      persistence: "memory",
      state: z.object({ title: z.string().default("# Shelf") }),
      tools: { fill: { description: "Fill.", run: ({ state }) => void (state.title += "s") } },
      resources: {
        icon: { uri: "shelf://{alias}/icon", mimeType: "image/png", view: ({ state }) => blob(new TextEncoder().encode(state.title)) },
        title: { uri: "shelf://{alias}/title", mimeType: "text/markdown", view: ({ state }) => state.title },
        raw: { uri: "shelf://{alias}/raw", view: () => blob("AQ==") },
      },
    });
    await using engine = await LocalEngine.start({ kinds: [shelf] });
    const id = shelf.id("one");
    await engine.call({ to: id, action: "troupe/begin", args: null, viewer, start: null });
    const service = toAgenticService({ engine, kinds: [shelf], id, viewer });
    const states = await until(service.states, () => true);
    assert.deepEqual(states, {
      icon: { schema: { type: "blob", mediaType: "image/png" }, value: new TextEncoder().encode("# Shelf") },
      title: { schema: { mediaType: "text/markdown" }, value: "# Shelf" },
      raw: { schema: { type: "blob" }, value: new Uint8Array([1]) },
    });
    using source = fromAgenticService(service);
    const read = async (name: string) => source.act(viewer, `resources/${name}`, {}, {});
    assert.deepEqual(await read("icon"), { ok: { [BLOB]: "IyBTaGVsZg==", mimeType: "image/png" } });
    assert.deepEqual(await read("title"), { ok: "# Shelf" });
    assert.deepEqual(await read("raw"), { ok: { [BLOB]: "AQ==", mimeType: "application/octet-stream" } });
    const filled = until(service.states, (map) => map["title"]?.value === "# Shelfs");
    await service.execute("fill", undefined);
    assert.deepEqual((await filled)["icon"]?.value, new TextEncoder().encode("# Shelfs"));
  });

  it("is taken by the library's own create as a link, and by fromAgenticService #agentic.actor", async () => {
    const { engine, ref } = await stage();
    await using _engine = engine;
    const house = AgenticService.create({
      interface: { front: { type: "link" }, knock: { type: "action", description: "Knock.", parameters: [] } },
      implementation: { front: toAgenticService(ref), knock: () => undefined },
    });
    using source = fromAgenticService(house, { name: "house" });
    const lists = listed(await source.surface(viewer), "dynamic");
    assert.deepEqual(lists.tools.map(({ name }) => name).toSorted(), [
      "front.look",
      "front.open",
      "front.room.light",
      "front.unlock",
      "front.wipe",
      "knock",
    ]);
    assert.deepEqual(
      lists.resources.map(({ uri }) => uri),
      ["mcp://house/front/state/state", "mcp://house/front/room/state/lamp"],
    );
    assert.deepEqual(await source.act(viewer, "tools/front.open", {}, {}), { refused: { code: "REFUSED", message: "It is locked." } });
    assert.deepEqual(await source.act(viewer, "tools/front.unlock", { turns: 3 }, {}), { ok: { turned: 3 } });
    const reply = await source.act(viewer, "tools/front.unlock", { turns: "many" }, {});
    assert.ok("refused" in reply && reply.refused.code === "INVALID");
    assert.deepEqual(await source.act(viewer, "tools/front.open", {}, {}), { ok: { text: "It creaks open." } });
    const silent = await source.act(viewer, "tools/front.room.light", {}, {});
    assert.ok("ok" in silent && JSON.stringify(silent.ok).includes(CONTENT));
  });

  it("emits one by one, only what changed, and listens to the engine only while somebody listens #agentic.actor", async () => {
    const { engine, ref } = await stage();
    await using _engine = engine;
    let watching = 0;
    const counted = {
      call: engine.call.bind(engine),
      read: engine.read.bind(engine),
      watch: (...args: Parameters<LocalEngine["watch"]>) => {
        watching += 1;
        const undo = engine.watch(...args);
        return () => {
          watching -= 1;
          undo();
        };
      },
    };
    const service = toAgenticService({ ...ref, engine: counted });
    const heard: string[] = [];
    const undo = [
      service.states((map) => heard.push(`states ${JSON.stringify(map["state"]?.value)}`)),
      service.actions((map) => heard.push(`actions ${Object.keys(map).toSorted().join()}`)),
    ];
    await until(service.links, () => true);
    assert.equal(watching, 1);
    await service.execute("unlock", { turns: 1 });
    await until(service.states, (map) => JSON.stringify(map["state"]?.value).includes('"locked":false'));
    assert.deepEqual(heard, [
      'states {"open":false,"locked":true}',
      "actions look,open,unlock,wipe",
      'states {"open":false,"locked":false}',
    ]);
    for (const one of undo) one();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(watching, 0);
  });

  it("shows nothing of what is not there, of another's, or of no known kind; with `start` the first action begins it #agentic.actor", async () => {
    const { engine, ref } = await stage();
    await using _engine = engine;
    const id = door.id("back");
    const none = toAgenticService({ ...ref, id });
    assert.deepEqual(await until(none.actions, () => true), {});
    assert.deepEqual(await until(toAgenticService({ ...ref, kinds: [] }).states, () => true), {});
    const beginning = toAgenticService({ ...ref, id, start: null });
    assert.deepEqual(
      Object.keys(await until(beginning.actions, () => true)).toSorted(),
      ["open", "unlock", "wipe"],
      "a look begins nothing",
    );
    assert.deepEqual(await beginning.execute("unlock", { turns: 1 }), { turned: 1 });
    assert.deepEqual(await beginning.execute("look", {}), { open: false });
    assert.deepEqual((await until(none.states, (map) => "state" in map))["state"]?.value, { open: false, locked: false });
    await engine.stop(id, "over");
    await until(none.states, (map) => Object.keys(map).length === 0);
  });

  it("tells every listener, whichever of them throws", async () => {
    const { engine, ref } = await stage();
    await using _engine = engine;
    const faults: unknown[] = [];
    const service = toAgenticService({ ...ref, onFault: (error) => void faults.push(error) });
    const isLocked = (states: Awaited<ReturnType<typeof shown>>): unknown => Reflect.get(Object(states["state"]?.value), "locked");
    const shown = () => until(service.states, (map) => "state" in map);
    await shown();
    const stop = service.states((states) => {
      if (isLocked(states) === false) throw new Error("a listener of somebody's");
    });
    const unlocked = until(service.states, (states) => isLocked(states) === false);
    await service.execute("unlock", { turns: 1 });
    await unlocked;
    stop();
    assert.match(String(faults), /a listener of somebody's/);
  });
});
