import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BLOB, CONTENT, type Json } from "../../core/contract/index.ts";
import { changedLists, listed } from "../../mcp/source/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { fromAgenticService, type State } from "./index.ts";
import { act, action, Count, FakeService, flagsOf, okOf, resourceUris, tick, toolNames, viewer } from "./service.fixture.ts";

const two = { states: { health: { schema: { type: "number" }, value: 5 }, name: { value: "Ana" } }, actions: { go: action() } };

const isRecord = (value: unknown): value is Readonly<Record<string, Json>> => typeof value === "object" && value !== null;

describe("states of a service", () => {
  it("are resources by default, subscribable, and updated #agentic.states.resources #agentic.states.descriptions #agentic.surface.states", async () => {
    const service = new FakeService(two);
    using source = fromAgenticService(service, { name: "hero", stateDescriptions: { name: "What it is called." } });
    assert.deepEqual(await resourceUris(source), ["mcp://hero/state/health", "mcp://hero/state/name"]);
    assert.equal(listed(await source.surface(viewer), "dynamic").resources[1]?.["description"], "What it is called.");
    const flags = flagsOf(source, viewer, "resources/health");
    service.observables.states.set({ ...two.states, health: { value: 4 } });
    await tick();
    assert.deepEqual(flags, ["resources/health"]);
    assert.equal(okOf(await act(source, "resources/health")), 4);
    assert.deepEqual(okOf(await act(source, "resources/name")), { [CONTENT]: [{ type: "text", text: '"Ana"' }] });
  });

  it("are data even if they look like MCP content", async () => {
    const values: Readonly<Record<string, Json>> = {
      page: { [CONTENT]: [{ type: "resource", resource: { uri: "file:///other", text: "x" } }] },
      wrong: { [CONTENT]: [{ type: "nothing that MCP has" }], isError: true },
      bytes: { [BLOB]: "AAAA", mimeType: "text/html" },
    };
    const service = new FakeService({
      states: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, { value }])),
      actions: { go: action() },
    });
    using source = fromAgenticService(service);
    for (const [key, value] of Object.entries(values)) {
      const text = JSON.stringify(value);
      assert.deepEqual(okOf(await act(source, `resources/${key}`)), { [CONTENT]: [{ type: "text", text }] });
      service.answer = () => value;
      assert.deepEqual(okOf(await act(source, "tools/go")), { [CONTENT]: [{ type: "text", text }], structured: value });
    }
    const named = { [CONTENT]: [1] };
    using tool = fromAgenticService(new FakeService({ states: { [CONTENT]: { value: [1] } } }), { states: "tool" });
    const all = { [CONTENT]: [{ type: "text", text: JSON.stringify(named) }], structured: named };
    assert.deepEqual(okOf(await act(tool, "tools/get_state")), all);
  });

  it("are described by their own properties, not by inherited ones", async () => {
    const states: Readonly<Record<string, State>> = JSON.parse(
      '{ "constructor": { "schema": { "description": "Who made it." }, "value": 1 }, "__proto__": { "schema": {}, "value": 2 } }',
    );
    const service = new FakeService({ states, links: { constructor: new FakeService() } });
    using source = fromAgenticService(service, { stateDescriptions: {} });
    const descriptions = listed(await source.surface(viewer), "dynamic").resources.map(({ description }) => description);
    assert.deepEqual(descriptions, ["Who made it.", undefined]);
    using links = fromAgenticService(service, { links: "list", linkDescriptions: {} });
    assert.deepEqual(okOf(await act(links, "tools/list_links")), [{ key: "constructor" }]);
  });

  it("are described by the current schema if it was changed in place", async () => {
    const schema = { type: "string", description: "One." };
    const service = new FakeService({ states: { x: { schema, value: "a" } } });
    using source = fromAgenticService(service);
    schema.description = "Two.";
    service.observables.states.set({ x: { schema, value: "b" } });
    assert.equal(listed(await source.surface(viewer), "dynamic").resources[0]?.["description"], "Two.");
  });

  it("are one tool by option, which returns all or those requested #agentic.states.tool", async () => {
    using source = fromAgenticService(new FakeService(two), { states: "tool" });
    assert.deepEqual(await resourceUris(source), []);
    assert.deepEqual(await toolNames(source), ["get_state", "go"]);
    assert.deepEqual(okOf(await act(source, "tools/get_state")), { health: 5, name: "Ana" });
    assert.deepEqual(okOf(await act(source, "tools/get_state", { keys: ["name"] })), { name: "Ana" });
    assert.deepEqual(await act(source, "tools/get_state", { keys: ["name", "none"] }), {
      refused: { code: "INVALID", message: "There is no state none. The states are health, name." },
    });
    assert.deepEqual(okOf(await act(source, "tools/get_state", { keys: [] })), {});
    assert.ok("refused" in (await act(source, "resources/health")));
  });

  it("do not change the list of tools if only its order differs", async () => {
    const { go } = two.actions;
    const service = new FakeService({ actions: { go, stay: go }, states: two.states });
    using source = fromAgenticService(service);
    const before = await source.surface(viewer);
    service.observables.actions.set({ stay: go, go });
    service.observables.states.set({ health: two.states.health });
    const after = await source.surface(viewer);
    assert.deepEqual(changedLists(before, after, "dynamic"), ["resources"]);
  });

  it("are omitted by option, and not observed #agentic.states.omitted", async () => {
    const count = new Count();
    using source = fromAgenticService(new FakeService(two, count), { states: "omit" });
    assert.deepEqual(await resourceUris(source), []);
    assert.deepEqual(await toolNames(source), ["go"]);
    assert.equal(count.begun, 2);
  });

  it("are served even if they violate their own schema #agentic.states.violating", async () => {
    const states = {
      winner: { schema: { type: "string", enum: ["X", "O"] }, value: null },
      none: { schema: false, value: undefined },
      odd: { schema: "nonsense", value: { at: Number.NaN, by: 3n, as: new Map([["a", new Set([1])]]) } },
    };
    using source = fromAgenticService(new FakeService({ states }));
    assert.equal(okOf(await act(source, "resources/winner")), null);
    assert.equal(okOf(await act(source, "resources/none")), null);
    assert.deepEqual(okOf(await act(source, "resources/odd")), { at: null, by: "3", as: { a: [1] } });
  });

  it("notify a subscriber once per interval, the last value included #agentic.states.fast", async () => {
    const clock = new SimulatedClock();
    const service = new FakeService({ states: { x: { value: 0 } } });
    using source = fromAgenticService(service, { clock, stateIntervalMs: 100 });
    const flags = flagsOf(source, viewer, "resources/x");
    const pause = (): Promise<void> => clock.advance(10);
    for (let x = 1; x <= 5; x += 1) {
      service.observables.states.set({ x: { value: x } });
      await pause();
    }
    const other = flagsOf(source, { principal: "ben", scopes: [] }, "resources/x");
    service.observables.states.set({ x: { value: 6 } });
    await tick();
    assert.deepEqual([flags.length, other.length], [1, 1], "another has an interval of its own");
    await clock.advance(100);
    assert.deepEqual([flags.length, other.length], [2, 1]);
    assert.equal(okOf(await act(source, "resources/x")), 6);
    await clock.advance(1_000);
    assert.deepEqual([flags.length, other.length], [2, 1], "nothing more came");
    assert.equal(clock.pending, 0);
  });

  it("still notify after the clock was set back", async () => {
    const clock = new SimulatedClock();
    const service = new FakeService({ states: { x: { value: 0 } } });
    using source = fromAgenticService(service, { clock, stateIntervalMs: 100 });
    const flags = flagsOf(source, viewer, "resources/x");
    for (const x of [1, 2, 3]) {
      service.observables.states.set({ x: { value: x } });
      await clock.advance(1_000);
      assert.equal(flags.length, x);
      clock.setBack(100_000);
    }
  });

  it("do not notify of a value that is the previous one when the interval ends #agentic.states.fast", async () => {
    const clock = new SimulatedClock();
    const service = new FakeService({ states: { x: { value: 0 } } });
    using source = fromAgenticService(service, { clock });
    const flags = flagsOf(source);
    for (const x of [1, 2, 1]) {
      service.observables.states.set({ x: { value: x } });
      await clock.advance(10);
    }
    await clock.advance(1_000);
    assert.equal(flags.length, 1);
    assert.equal(clock.pending, 0);
  });

  it("C8 flag what a caller changed before its reply, whatever the interval #agentic.states.fast", async () => {
    const clock = new SimulatedClock();
    const service = new FakeService({ states: { x: { value: 0 } }, actions: { add: action() } });
    let x = 0;
    service.answer = () => {
      x += 1;
      service.observables.states.set({ x: { value: x } });
      return undefined;
    };
    using source = fromAgenticService(service, { clock });
    const mine = flagsOf(source);
    const other = flagsOf(source, { principal: "ben", scopes: [] });
    for (const calls of [1, 2, 3]) {
      await act(source, "tools/add");
      assert.equal(mine.length, calls);
    }
    assert.equal(other.length, 1);
  });

  it("C8 flag what a call changed before its error", async () => {
    const service = new FakeService({ states: { x: { value: 0 } }, actions: { add: action() } });
    let x = 0;
    service.answer = () => {
      x += 1;
      service.observables.states.set({ x: { value: x } });
      throw new Error("It broke.");
    };
    using source = fromAgenticService(service, { clock: new SimulatedClock() });
    const flags = flagsOf(source);
    for (const calls of [1, 2]) {
      await assert.rejects(act(source, "tools/add"), /It broke/);
      assert.equal(flags.length, calls);
    }
  });

  it("notify if they were changed in place, not if the same object was emitted", async () => {
    const cells = new Float32Array(2);
    const service = new FakeService({ states: { cells: { value: cells } } });
    using source = fromAgenticService(service, { stateIntervalMs: 0 });
    const flags = flagsOf(source);
    service.observables.states.set({ cells: { value: cells } });
    await tick();
    assert.deepEqual(flags, []);
    cells[1] = 1;
    service.observables.states.set({ cells: { value: cells } });
    await tick();
    assert.deepEqual(flags, ["resources/cells"]);
    assert.deepEqual(okOf(await act(source, "resources/cells")), [0, 1]);
  });

  it("are read in pages if long, whose ids belong to one value #agentic.states.huge", async () => {
    const value = Array.from({ length: 100 }, (_, i) => `item ${i} 🎲`);
    const service = new FakeService({ states: { board: { value } } });
    using source = fromAgenticService(service, { pageLength: 101 });
    const index = okOf(await act(source, "resources/board"));
    assert.ok(isRecord(index) && Array.isArray(index["pages"]));
    assert.equal(index["large"], true);
    const pages: readonly Json[] = index["pages"];
    assert.ok(pages.length > 10);
    const texts: string[] = [];
    for (const page of pages) {
      const text = okOf(await act(source, "resources/state_page of mcp://service", { page }));
      assert.ok(typeof text === "string" && text.length <= 102 && text.isWellFormed());
      texts.push(text);
    }
    assert.deepEqual(JSON.parse(texts.join("")), value);
    service.observables.states.set({ board: { value: [...value, "more"] } });
    const stale = await act(source, "resources/state_page of mcp://service", { page: pages[0] ?? "" });
    assert.ok("refused" in stale && stale.refused.code === "NOT_NOW");
    for (const page of ["board", "none-1-1", "board-1-0", `${JSON.stringify(pages[0])}9`, 7]) {
      const reply = await act(source, "resources/state_page of mcp://service", { page });
      assert.ok("refused" in reply, String(page));
    }
    assert.deepEqual(listed(await source.surface(viewer), "dynamic").resourceTemplates[0]?.["uriTemplate"], "mcp://service/page/{page}");
  });

  it("are blobs if they are bytes, in pages if long #agentic.states.binary", async () => {
    const bytes = Uint8Array.from({ length: 1_000 }, (_, i) => i % 256);
    const states = {
      icon: { schema: { type: "blob", mediaType: "image/png" }, value: bytes.slice(0, 3) },
      file: { value: new Blob([bytes.slice(0, 3)], { type: "text/css" }) },
      raw: { value: bytes.slice(0, 3).buffer },
      shared: { value: new SharedArrayBuffer(3) },
      view: { value: new DataView(bytes.buffer, 1, 2) },
      many: { value: bytes },
    };
    using source = fromAgenticService(new FakeService({ states }), { pageLength: 101 });
    assert.deepEqual(okOf(await act(source, "resources/icon")), { [BLOB]: "AAEC", mimeType: "image/png" });
    assert.deepEqual(okOf(await act(source, "resources/file")), { [BLOB]: "AAEC", mimeType: "text/css" });
    assert.deepEqual(okOf(await act(source, "resources/raw")), { [BLOB]: "AAEC", mimeType: "application/octet-stream" });
    assert.deepEqual(okOf(await act(source, "resources/shared")), { [BLOB]: "AAAA", mimeType: "application/octet-stream" });
    assert.deepEqual(okOf(await act(source, "resources/view")), { [BLOB]: "AQI=", mimeType: "application/octet-stream" });
    const index = okOf(await act(source, "resources/many"));
    assert.ok(isRecord(index) && Array.isArray(index["pages"]) && index["length"] === 1_000);
    const read: Buffer[] = [];
    for (const page of index["pages"]) {
      const blob = okOf(await act(source, "resources/state_page of mcp://service", { page }));
      assert.ok(isRecord(blob) && typeof blob[BLOB] === "string");
      read.push(Buffer.from(blob[BLOB], "base64"));
    }
    assert.deepEqual(Buffer.concat(read), Buffer.from(bytes));
  });

  it("are never paged by option; an invalid page length is refused", async () => {
    const states = { icon: { value: new Uint8Array([1, 2, 3]) }, board: { value: "x".repeat(70_000) } };
    using source = fromAgenticService(new FakeService({ states }), { pageLength: Infinity });
    assert.deepEqual(okOf(await act(source, "resources/icon")), { [BLOB]: "AQID", mimeType: "application/octet-stream" });
    assert.match(JSON.stringify(okOf(await act(source, "resources/board"))), /x{70000}/);
    for (const pageLength of [0, -1, 1.5, Number.NaN, -Infinity])
      assert.throws(() => fromAgenticService(new FakeService(), { pageLength }), { code: "BAD_OPTION", message: /^pageLength has to be / });
    assert.throws(() => fromAgenticService(() => undefined, { pageLength: 0 }), { code: "BAD_OPTION" });
    const misspelt: object = { pageLenght: 5 };
    assert.throws(() => fromAgenticService(new FakeService(), misspelt), {
      code: "BAD_OPTION",
      message: /no option "pageLenght".*"pageLength"/,
    });
  });

  it("are plain text if they have a media type, in pages too; other values are JSON", async () => {
    const text = '# "Log"\n'.repeat(40);
    const mediaType = "text/markdown";
    const blob = { type: "blob" };
    const states = {
      log: { schema: { mediaType }, value: text },
      none: { schema: { mediaType }, value: null },
      icon: { schema: blob, value: 7 },
    };
    const service = new FakeService({ states: { ...states, many: { schema: blob, value: new Uint8Array(200) } } });
    using source = fromAgenticService(service, { pageLength: 101 });
    const listedAs = listed(await source.surface(viewer), "dynamic").resources.map(({ mimeType }) => mimeType);
    assert.deepEqual(listedAs, [mediaType, mediaType, "application/octet-stream", "application/octet-stream"]);
    const json = (value: Json) => ({ [CONTENT]: [{ type: "text", text: JSON.stringify(value), mimeType: "application/json" }] });
    assert.deepEqual(okOf(await act(source, "resources/none")), json(null));
    assert.deepEqual(okOf(await act(source, "resources/icon")), json(7));
    for (const [name, length] of [
      ["log", 320],
      ["many", 200],
    ] as const) {
      const index = okOf(await act(source, `resources/${name}`));
      assert.ok(isRecord(index) && Array.isArray(index[CONTENT]));
      const block: unknown = index[CONTENT][0];
      assert.ok(isRecord(block) && typeof block["text"] === "string");
      const { large, length: total, pages }: { large: boolean; length: number; pages: readonly string[] } = JSON.parse(block["text"]);
      assert.deepEqual([block["mimeType"], large, total], ["application/json", true, length]);
      const read: Json[] = [];
      for (const page of pages) read.push(okOf(await act(source, "resources/state_page of mcp://service", { page })));
      if (name === "log") assert.equal(read.map((page) => (typeof page === "string" ? page : "")).join(""), text);
      else assert.ok(read.every((page) => isRecord(page) && page["mimeType"] === "application/octet-stream"));
    }
  });

  it("notify if only their media type changed, and are read anew", async () => {
    const service = new FakeService({ states: { x: { schema: {}, value: "# a" } } });
    using source = fromAgenticService(service);
    assert.deepEqual(okOf(await act(source, "resources/x")), { [CONTENT]: [{ type: "text", text: '"# a"' }] });
    const flags = flagsOf(source);
    service.observables.states.set({ x: { schema: { mediaType: "text/markdown" }, value: "# a" } });
    await tick();
    assert.deepEqual(flags, ["lists", "resources/x"]);
    assert.equal(okOf(await act(source, "resources/x")), "# a");
  });

  it("contain their Blobs as base64, and notify if a Blob was replaced", async () => {
    const holding = (text: string) => ({ value: { name: "a", files: [new Blob([text])] } });
    const service = new FakeService({ states: { board: holding("one"), icon: { value: new Blob(["i"]) } } });
    using source = fromAgenticService(service, { stateIntervalMs: 0, waitForChange: true, pageLength: 60 });
    using asTool = fromAgenticService(service, { states: "tool" });
    assert.deepEqual(okOf(await act(source, "resources/board")), { name: "a", files: ["b25l"] });
    assert.deepEqual(okOf(await act(asTool, "tools/get_state")), { board: { name: "a", files: ["b25l"] }, icon: "aQ==" });
    const flags = flagsOf(source, viewer, "resources/board");
    const waiting = act(source, "tools/wait_for_change");
    await tick();
    service.observables.states.set({ board: holding("two"), icon: { value: new Blob(["i".repeat(50)]) } });
    await tick();
    assert.deepEqual(flags, ["resources/board"]);
    const reply = okOf(await waiting);
    assert.ok(isRecord(reply));
    assert.deepEqual([reply["changed"], reply["large"]], [{ board: { name: "a", files: ["dHdv"] } }, ["icon"]]);
    assert.deepEqual(okOf(await act(source, "resources/board")), { name: "a", files: ["dHdv"] });
  });

  it("are cut or refused if circular or too large, without affecting others #agentic.states.bounded", async () => {
    const round: Record<string, unknown> = { a: 1 };
    round["self"] = round;
    const states = { round: { value: round }, endless: { value: { toJSON: () => Array.from({ length: 1_000_001 }) } }, fine: { value: 1 } };
    using source = fromAgenticService(new FakeService({ states }));
    assert.deepEqual(okOf(await act(source, "resources/round")), { a: 1, self: null });
    await assert.rejects(act(source, "resources/endless"), { code: "STATE_TOO_LARGE" });
    assert.equal(okOf(await act(source, "resources/fine")), 1);
  });

  it("are named if they cannot be converted, without affecting others of one tool", async () => {
    const lazy = Object.defineProperty({}, "x", {
      enumerable: true,
      get: () => {
        throw new Error("Not loaded.");
      },
    });
    const removed = Object.assign(new Blob(["a"]), { arrayBuffer: () => Promise.reject(new Error("The file was removed.")) });
    const endless = { toJSON: () => Array.from({ length: 1_000_001 }) };
    const states = { endless: { value: endless }, fine: { value: 1 }, lazy: { value: lazy }, held: { value: [removed] } };
    using source = fromAgenticService(new FakeService({ states }), { states: "tool" });
    const reply = okOf(await act(source, "tools/get_state"));
    assert.ok(isRecord(reply));
    assert.deepEqual([reply["structured"], reply["isError"]], [{ fine: 1 }, false]);
    assert.match(JSON.stringify(reply[CONTENT]), /endless: This holds more than .* lazy: Not loaded\. held: The file was removed\./);
    assert.deepEqual(okOf(await act(source, "tools/get_state", { keys: ["fine"] })), { fine: 1 });
    const none = okOf(await act(source, "tools/get_state", { keys: ["lazy"] }));
    assert.ok(isRecord(none) && none["isError"] === true);
    using asResources = fromAgenticService(new FakeService({ states }));
    await assert.rejects(act(asResources, "resources/lazy"), { code: "CRASHED", message: "Not loaded." });
    await assert.rejects(act(asResources, "resources/held"), { code: "CRASHED", message: "The file was removed." });
  });
});
