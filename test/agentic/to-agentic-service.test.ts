// A Troupe actor as the library's own consumers, and our own, take it.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Observe } from "@adobe/data/observe";
import { AgenticService } from "@adobe/data/service";
import * as z from "zod";
import { actor, blob, content, refuse } from "../../src/core/actor/index.ts";
import { fromAgenticService, isAgenticService, toAgenticService } from "../../src/bridges/agentic/index.ts";
import { type ActorId, BLOB, CONTENT, type Viewer } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { image } from "../../src/mcp/server/index.ts";
import { listed } from "../../src/mcp/source/index.ts";
import { SimulatedClock } from "../../src/testing/index.ts";

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

  it("leaves out what needs scopes that its viewer lacks, and does not do it", async () => {
    const page = actor("page", {
      description: "A page.",
      per: "shared",
      persistence: "memory",
      state: z.object({ text: z.string().default("secret") }),
      tools: {
        write: { description: "Write.", scopes: ["edit"], run: ({ state }) => (state.text = "written") },
        peek: { description: "Peek.", scopes: ["edit"], view: ({ state }) => state.text },
      },
      resources: { text: { uri: "page://text", scopes: ["edit"], view: ({ state }) => state.text } },
    });
    await using engine = await LocalEngine.start({ kinds: [page] });
    const id = page.id("main");
    const as = (scopes: readonly string[]) =>
      toAgenticService({ engine, kinds: [page], id, viewer: { principal: "ana", scopes }, start: null });
    const [editor, reader] = [as(["edit"]), as([])];
    assert.deepEqual(await until(reader.actions, () => true), {}, "before it begins");
    assert.equal(await reader.execute("write", {}), 'Action "write" is not available');
    assert.equal(await engine.read(id), undefined);
    assert.deepEqual(await editor.execute("write", {}), { text: "written" });
    assert.deepEqual(Object.keys(await until(editor.actions, () => true)), ["write", "peek"]);
    assert.deepEqual(Object.keys(await until(editor.states, () => true)), ["text"]);
    assert.deepEqual(await until(reader.actions, () => true), {});
    assert.deepEqual(await until(reader.states, () => true), {});
    assert.equal(await reader.execute("peek", {}), 'Action "peek" is not available');

    // A source asks for another service where a token of the same principal has fewer scopes.
    using source = fromAgenticService((who) => toAgenticService({ engine, kinds: [page], id, viewer: who }));
    const peek = (scopes: readonly string[]) => source.act({ principal: "ana", scopes }, "tools/peek", {}, {});
    assert.deepEqual(await peek(["edit"]), { ok: { text: "written" } });
    const reply = await peek([]);
    assert.ok("refused" in reply && reply.refused.code === "UNKNOWN");
  });

  it("begins no linked actor that others create, and those that start by themselves", async () => {
    const made = actor("made", {
      description: "Created by others.",
      persistence: "memory",
      state: z.object({}),
      tools: { go: { description: "Go.", run: () => "went" } },
    });
    const open = actor("open", {
      description: "Starts by itself.",
      autoStart: true,
      persistence: "memory",
      state: z.object({}),
      tools: { go: { description: "Go.", run: () => "went" } },
    });
    const hub = actor("hub", {
      description: "Links to both.",
      per: "user",
      persistence: "memory",
      state: z.object({}),
      links: { made: { kinds: ["made"], to: () => made.id("one") }, open: { kinds: ["open"], to: () => open.id("one") } },
    });
    const kinds = [hub, made, open];
    await using engine = await LocalEngine.start({ kinds });
    const id = hub.id("ana");
    await engine.call({ to: id, action: "troupe/begin", args: null, viewer, start: null });
    const service = toAgenticService({ engine, kinds, id, viewer, start: null });
    const links = await until(service.links, () => true);
    assert.equal(await links["made"]?.execute("go", {}), 'Action "go" is not available');
    assert.equal(await engine.read(made.id("one")), undefined);
    assert.deepEqual(await links["open"]?.execute("go", {}), { text: "went" });
  });

  it("goes on where a view throws, and says the time to views", async () => {
    const sick = actor("sick", {
      description: "Some of its code is broken.",
      persistence: "memory",
      state: z.object({ n: z.int().default(0) }),
      tools: {
        add: { description: "Add.", run: ({ state }) => (state.n += 1) },
        crash: {
          description: "Crash.",
          run() {
            throw new Error("password");
          },
        },
        peek: {
          description: "Peek.",
          view(): string {
            throw new Error("password");
          },
        },
        time: { description: "The time.", view: ({ now }) => ({ now }) },
      },
      resources: {
        broken: {
          uri: "sick://broken",
          view({ state }) {
            if (state.n > 0) throw new Error("password");
            return state.n;
          },
        },
        n: { uri: "sick://n", view: ({ state, now }) => ({ n: state.n, now }) },
      },
    });
    await using engine = await LocalEngine.start({ kinds: [sick], onFault: () => undefined });
    const faults: string[] = [];
    const clock = new SimulatedClock();
    const id = sick.id("one");
    const onFault = (error: unknown): void => void faults.push(String(error));
    const service = toAgenticService({ engine, kinds: [sick], id, viewer, start: null, clock, onFault });
    assert.equal(await service.execute("add", {}), 1);
    assert.equal(await service.execute("add", {}), 2);
    assert.deepEqual(faults, [], "no view is computed for an action");
    const states = await until(service.states, () => true);
    assert.deepEqual(Object.keys(states), ["n"]);
    assert.deepEqual(states["n"]?.value, { n: 2, now: clock.now() });
    assert.deepEqual(await service.execute("time", {}), { now: clock.now() });
    await assert.rejects(service.execute("peek", {}), { code: "CRASHED", message: "Looking at peek of sick failed; nothing was changed." });
    assert.deepEqual(faults, ["Error: password", "Error: password"], "its words are for its author");
    // The error says what its engine knows of the call.
    using source = fromAgenticService(service);
    await assert.rejects(source.act(viewer, "tools/crash", {}, {}), { code: "CRASHED", applied: false });
  });

  it("shows nothing of a state of newer code", async () => {
    const { engine, ref } = await stage();
    await using _engine = engine;
    const read = async (id: ActorId) => {
      const snapshot = await engine.read(id);
      return snapshot && { ...snapshot, version: 2 };
    };
    const service = toAgenticService({ ...ref, engine: { call: engine.call.bind(engine), watch: engine.watch.bind(engine), read } });
    assert.deepEqual(await until(service.states, () => true), {});
    assert.match(String(await service.execute("unlock", { turns: 1 })), /not available/);
  });

  it("hides the id of a linked actor in errors, and hands on content that an author made", async () => {
    const list = actor("list", {
      description: "A list.",
      persistence: "memory",
      state: z.object({}),
      tools: {
        crash: {
          description: "Crash.",
          run() {
            throw new Error("no");
          },
        },
        draw: { description: "Draw.", run: () => content(["Here:", image("AAAA", "image/png")]) },
      },
      resources: { picture: { uri: "list://picture", view: () => content(["Drawn."]) } },
    });
    const hub = actor("hub", {
      description: "Links to a list.",
      persistence: "memory",
      state: z.object({}),
      links: { list: { kinds: ["list"], to: () => list.id("bob") } },
    });
    await using engine = await LocalEngine.start({ kinds: [hub, list], onFault: () => undefined });
    for (const to of [hub.id("one"), list.id("bob")]) await engine.call({ to, action: "troupe/begin", args: null, viewer, start: null });
    using source = fromAgenticService(toAgenticService({ engine, kinds: [hub, list], id: hub.id("one"), viewer }));
    await assert.rejects(source.act(viewer, "tools/list.crash", {}, {}), (error) => !String(error).includes("bob"));
    const blocks = [
      { type: "text", text: "Here:" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ];
    assert.deepEqual(await source.act(viewer, "tools/list.draw", {}, {}), { ok: { [CONTENT]: blocks } });
    const drawn = { ok: { [CONTENT]: [{ type: "text", text: "Drawn." }] } };
    assert.deepEqual(await source.act(viewer, "resources/list.picture", {}, {}), drawn);
  });

  it("reads an actor again that could not be read, whatever is done with the error", async () => {
    const { engine, ref } = await stage();
    await using _engine = engine;
    const clock = new SimulatedClock();
    let reads = 0;
    let isAway = true;
    const read = async (id: ActorId) => {
      reads += 1;
      if (isAway) throw new Error("The store is away.");
      return engine.read(id);
    };
    const onFault = (): never => {
      throw new Error("The log is away, too.");
    };
    const away = { call: engine.call.bind(engine), watch: engine.watch.bind(engine), read };
    const service = toAgenticService({ ...ref, engine: away, clock, onFault });
    const shown: unknown[] = [];
    const undo = service.states((states) => void shown.push(Object.keys(states)));
    await clock.advance(3_000);
    assert.deepEqual([reads, shown], [3, []], "after 1 s and 2 s more");
    isAway = false;
    await clock.advance(4_000);
    assert.deepEqual([reads, shown], [4, [["state"]]]);
    undo();
    isAway = true;
    service.states(() => undefined)();
    await clock.advance(60_000);
    assert.equal(reads, 5, "none is repeated that no one waits for");
  });

  it("stores no arguments in the chain that the tool does not name", async () => {
    const { engine, ref } = await stage();
    await using _engine = engine;
    assert.deepEqual(await toAgenticService(ref).execute("unlock", { turns: 2, pin: "1234" }), { turned: 2 });
    const events: string[] = [];
    for await (const event of engine.history(doorId)) events.push(JSON.stringify(event));
    assert.match(events.join(), /turns/);
    assert.doesNotMatch(events.join(), /pin/);
  });

  it("C8 shows what a call changed before it replies, however long the engine takes to read", async () => {
    const { engine, ref } = await stage();
    await using _engine = engine;
    const read = async (id: ActorId) => {
      for (let round = 0; round < 20; round += 1) await new Promise((resolve) => void setImmediate(resolve));
      return engine.read(id);
    };
    const slow = { call: engine.call.bind(engine), watch: engine.watch.bind(engine), read };
    using source = fromAgenticService(toAgenticService({ ...ref, engine: slow }), { changedStates: true });
    await source.surface(viewer);
    const reply = await source.act(viewer, "tools/unlock", { turns: 1 }, {});
    assert.deepEqual(reply, { ok: { result: { turned: 1 }, changed: { state: { open: false, locked: false } } } });
    assert.deepEqual(await source.act(viewer, "resources/state", {}, {}), { ok: { open: false, locked: false } });
  });
});
