import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { actor } from "../../core/actor/index.ts";
import type { Behaviour, OfferRef, Reply, Source, TroupeError, Viewer } from "../../core/contract/index.ts";
import { FakeEngine } from "../../../test/source/fake-engine.ts";
import { player, room } from "../../../test/source/rooms.ts";
import { cast, type CastOptions, listed, prefix } from "./index.ts";
import * as z from "zod";

const counter = actor("counter", {
  description: "Counts.",
  persistence: "memory",
  state: z.object({ count: z.number().default(0) }),
  tools: {
    add: {
      description: "Adds.",
      input: z.object({ by: z.number().default(1) }),
      run({ state, args }) {
        state.count += args.by;
        return state.count;
      },
    },
    get: { description: "Says it.", view: ({ state }) => state.count },
    reset: {
      description: "Starts over.",
      enabled: ({ state }) => state.count > 0 || "There is nothing to reset.",
      run({ state }) {
        state.count = 0;
        return "0";
      },
    },
    secret: {
      description: "Only above nine.",
      enabled: ({ state }) => state.count > 9,
      view: () => "ten",
    },
  },
  resources: { count: { uri: "counter://{alias}/count", view: ({ state }) => state } },
});

const ana: Viewer = { principal: "ana", scopes: [] };
const bob: Viewer = { principal: "bob", scopes: [] };
const anonymous: Viewer = { scopes: [] };

function serve(kinds: readonly Behaviour[], options: Partial<CastOptions> = {}): { readonly engine: FakeEngine; readonly source: Source } {
  const engine = new FakeEngine(kinds);
  return { engine, source: cast({ engine, kinds, ...options }) };
}

function rooms(): ReturnType<typeof serve> {
  const served = serve([player, room]);
  served.engine.put("room/hall", { items: ["torch", "key"], dark: false });
  served.engine.put("room/cave", { items: [], dark: true });
  return served;
}

async function tools(source: Source, viewer: Viewer): Promise<readonly string[]> {
  return listed(await source.surface(viewer), "dynamic").tools.map(({ name }) => name);
}

const act = (source: Source, viewer: Viewer, ref: OfferRef, args: { readonly [key: string]: string | number } = {}): Promise<Reply> =>
  source.act(viewer, ref, args, {});

const code = (reply: Reply): string => ("refused" in reply ? reply.refused.code : "ok");

function isCoded(expected: string): (error: TroupeError) => boolean {
  return (error) => error.code === expected;
}

function ringer(kind: string, text: string): Behaviour {
  return actor(kind, { description: kind, per: "link", state: z.object({}), tools: { ring: { description: text, run: () => kind } } });
}

describe("cast: roots", () => {
  it("serves a shared actor without handle or prefix before it exists #sources.cast", async () => {
    const { source, engine } = serve([counter]);
    assert.deepEqual(await tools(source, anonymous), ["add", "get"]);
    assert.deepEqual(await act(source, anonymous, "tools/get"), { ok: 0 });
    assert.equal(engine.actors.size, 0);
    assert.deepEqual(await act(source, anonymous, "tools/add", { by: 4 }), { ok: 4 });
    assert.deepEqual([...engine.actors.keys()], ["counter/main"]);
    assert.deepEqual(await act(source, ana, "tools/get"), { ok: 4 });
    assert.deepEqual(await tools(source, ana), ["add", "get", "reset"]);
  });

  it("keys a user's actor by its principal, percent-encoded, or hashed if too long #sources.cast #spec.1.independent", async () => {
    const { source, engine } = rooms();
    await act(source, { principal: "https://id.example|ä b", scopes: [] }, "tools/move", { to: "cave" });
    await act(source, { principal: "x".repeat(300), scopes: [] }, "tools/move", { to: "cave" });
    const ids = [...engine.actors.keys()].filter((id) => id.startsWith("player/"));
    assert.equal(ids[0], "player/https%3A%2F%2Fid.example%7C%C3%A4%20b");
    assert.match(ids[1] ?? "", /^player\/[0-9a-f]{64}$/);
  });

  it("reports missing and unknown options", () => {
    const { engine } = serve([counter]);
    const wrong = (options: unknown, message: RegExp): void => assert.throws(() => cast(Object(options)), { code: "BAD_OPTION", message });
    wrong({ kinds: [counter] }, /^engine has to be an engine: await LocalEngine/);
    wrong({ kinds: [counter], engine: Promise.resolve(engine) }, /^engine has to be/);
    wrong({ kinds: counter, engine }, /^kinds has to be a list of kinds/);
    wrong({ kinds: [counter], engine, onfault: () => undefined }, /^cast has no option "onfault", do you mean "onFault"\?/);
  });

  it("law 3: hidden and unknown offers answer alike, and calls are checked whatever lists showed #spec.6.consent", async () => {
    const { source } = serve([counter]);
    const hidden = await act(source, ana, "tools/secret");
    const unknown = await act(source, ana, "tools/nothing");
    assert.equal(code(hidden), "UNKNOWN");
    assert.equal(code(unknown), "UNKNOWN");
    assert.deepEqual(await act(source, ana, "tools/reset"), { refused: { code: "NOT_NOW", message: "There is nothing to reset." } });
    await act(source, ana, "tools/add", { by: 12 });
    assert.deepEqual(await act(source, ana, "tools/secret"), { ok: "ten" });
  });

  it("passes key, answers, can, trace, signal and listeners to the engine", async () => {
    const { source, engine } = serve([counter]);
    const receipts: number[] = [];
    const { signal } = new AbortController();
    const options = { key: "k", answers: { a: 1 }, can: ["roots"], trace: { traceparent: "t" }, signal, onHandled: () => undefined };
    await source.act(ana, "tools/add", {}, { ...options, onReceipt: ({ seq }) => receipts.push(seq) });
    const [call] = engine.calls;
    const { onReceipt, ...given } = call?.options ?? {};
    assert.equal(typeof onReceipt, "function");
    assert.deepEqual(given, options);
    assert.deepEqual(call?.message.trace, { traceparent: "t" });
    assert.deepEqual(call?.message.viewer, { principal: "ana", scopes: [], self: "counter/main" });
    assert.deepEqual(receipts, [1]);
    assert.deepEqual(await source.act(ana, "tools/add", {}, { key: "k" }), { ok: 1 });
  });

  it("fills {alias}, and shows no principal #spec.6.privacy.transmission", async () => {
    const surface = await serve([counter]).source.surface(ana);
    assert.deepEqual(
      listed(surface, "static").resources.map(({ uri }) => uri),
      ["counter://main/count"],
    );
    const text = JSON.stringify(listed(await rooms().source.surface({ principal: "secret-name", scopes: [] }), "static"));
    assert.doesNotMatch(text, /secret-name/);
  });

  it("a tool names its MCP App by the URI that the resource has, with an alias and under a prefix", async () => {
    const board = actor("board", {
      description: "A board.",
      per: "shared",
      state: z.object({}),
      tools: {
        move: { description: "Move.", meta: { ui: { resourceUri: "ui://board/{alias}/view", visibility: ["app"] } }, run: () => "moved" },
        look: { description: "Look.", meta: { "ui/resourceUri": "ui://board/{alias}/view" }, run: () => "seen" },
      },
      resources: { app: { uri: "ui://board/{alias}/view", mimeType: "text/html;profile=mcp-app", view: () => "<p>" } },
    });
    const { source } = serve([board]);
    for (const served of [source, prefix("town", source)]) {
      const { tools: all, resources } = listed(await served.surface(ana), "static");
      const [uri] = resources.map((one) => one["uri"]);
      assert.equal(uri, served === source ? "ui://board/main/view" : "ui://town/board/main/view");
      assert.deepEqual(
        all.map((one) => one["_meta"]),
        [{ ui: { resourceUri: uri, visibility: ["app"] } }, { "ui/resourceUri": uri }],
      );
    }
  });

  it("actors of anonymous sessions expire, those of principals do not", async () => {
    const own = { ...counter, kind: "own", per: "user" as const };
    const { source, engine } = serve([own]);
    await act(source, { principal: "session|0f", scopes: [] }, "tools/add");
    assert.deepEqual(engine.calls.at(-1)?.message.policy, { expireMs: 86_400_000 });
    await act(source, ana, "tools/add");
    assert.equal(engine.calls.at(-1)?.message.policy, undefined);
    const short = serve([{ ...own, policy: { ...own.policy, expireMs: 5 } }]);
    await act(short.source, { principal: "session|0f", scopes: [] }, "tools/add");
    assert.deepEqual(short.engine.calls.at(-1)?.message.policy, { expireMs: 5 });
  });

  it("owner starter: another viewer's actor does not exist #actors.owner #spec.6.control #spec.6.access", async () => {
    const mine = { ...counter, kind: "mine", policy: { ...counter.policy, owner: "starter" as const } };
    const { source } = serve([mine]);
    assert.deepEqual(await act(source, ana, "tools/add"), { ok: 1 });
    assert.deepEqual(await tools(source, ana), ["add", "get", "reset"]);
    assert.deepEqual(await tools(source, bob), []);
    assert.equal(code(await act(source, bob, "tools/get")), "UNKNOWN");
    assert.equal(code(await act(source, bob, "tools/add")), "UNKNOWN");
    assert.equal(code(await act(source, bob, "resources/count")), "UNKNOWN");
  });
});

describe("cast: links", () => {
  it("joins the surface of the linked actor, with its choices, as one constant catalogue #sources.cast", async () => {
    const { source } = rooms();
    const before = await source.surface(ana);
    assert.deepEqual(await tools(source, ana), ["move", "inventory", "pick_up", "switch", "look"]);
    assert.deepEqual(before.choices, { "tools/pick_up": { item: ["torch", "key"] } });
    await act(source, ana, "tools/move", { to: "cave" });
    const after = await source.surface(ana);
    assert.equal(after.catalogue, before.catalogue);
    assert.equal((await source.surface(bob)).catalogue, before.catalogue);
    assert.deepEqual(after.off, {
      "tools/drop": "You carry nothing.",
      "tools/pick_up": "There is nothing here.",
      "tools/look": true,
      "resources/light": true,
    });
  });

  it("acts on the linked actor as it is linked now, with the player as self #sources.links", async () => {
    const { source, engine } = rooms();
    await act(source, ana, "tools/move", { to: "hall" });
    assert.deepEqual(await act(source, ana, "tools/pick_up", { item: "torch" }), { ok: "You take the torch." });
    assert.deepEqual(engine.actors.get("player/ana")?.state, { room: "hall", items: ["torch"] });
    assert.equal(code(await act(source, ana, "tools/pick_up", { item: "torch" })), "INVALID");
    await act(source, ana, "tools/move", { to: "cave" });
    assert.equal(code(await act(source, ana, "tools/pick_up", { item: "key" })), "NOT_NOW");
    assert.equal(code(await act(source, ana, "tools/look")), "UNKNOWN");
  });

  it("C4 a retry goes to the actor that applied the call, though the link changed", async () => {
    const { source } = rooms();
    await act(source, ana, "tools/move", { to: "attic" });
    await act(source, ana, "tools/move", { to: "hall" });
    const first = await source.act(ana, "tools/pick_up", { item: "torch" }, { key: "once" });
    await act(source, ana, "tools/move", { to: "cave" });
    assert.deepEqual(await source.act(ana, "tools/pick_up", { item: "torch" }, { key: "once" }), first);
    assert.equal(code(await source.act(ana, "tools/pick_up", { item: "torch" }, { key: "another" })), "NOT_NOW");
  });

  it("law 3: an offer behind a link that is off is refused with its reason, or hidden without one", async () => {
    const till = ringer("till", "Rings it up.");
    const desk = actor("desk", {
      description: "A desk.",
      per: "link",
      state: z.object({ till: z.string().default("") }),
      links: {
        till: { kind: till, enabled: ({ state }) => state.till !== "" || "It is locked.", to: ({ state }) => `till/${state.till}` },
      },
      tools: { queue: { description: "What waits.", view: () => "none" }, close: { description: "Close it.", run: () => "closed" } },
      resources: { sign: { uri: "desk://{alias}/sign", choices: {}, view: () => "Open" } },
    });
    const clerk = actor("clerk", {
      description: "Stands at a desk, or not.",
      per: "user",
      state: z.object({ at: z.string().default("") }),
      links: {
        desk: {
          kind: desk,
          enabled: ({ state: { at } }) => (at === "nowhere" ? false : at !== "" || "Submit it first."),
          to: ({ state: { at } }) => `desk/${at}`,
        },
      },
      tools: { go: { description: "Go.", input: z.object({ to: z.string() }), run: ({ state, args }) => void (state.at = args.to) } },
    });
    const { source, engine } = serve([clerk, desk, till]);
    engine.put("desk/main", { till: "" });
    const refusals = async (...refs: readonly OfferRef[]): Promise<readonly unknown[]> => {
      const { off } = await source.surface(ana);
      const reasons = [];
      for (const ref of refs) {
        const reply = await act(source, ana, ref);
        const refused = "refused" in reply ? reply.refused : undefined;
        const why = off[ref];
        assert.equal(refused?.code === "NOT_NOW" ? refused.message : true, why, "the list and the call say the same");
        reasons.push(why);
      }
      return reasons;
    };
    const all: readonly OfferRef[] = ["tools/desk__queue", "tools/desk__close", "resources/desk__sign", "tools/desk__till__ring"];
    assert.deepEqual(await tools(source, ana), ["go"]);
    assert.deepEqual(
      await refusals(...all),
      all.map(() => "Submit it first."),
    );
    await act(source, ana, "tools/go", { to: "main" });
    assert.deepEqual(await tools(source, ana), ["go", "desk__queue", "desk__close"]);
    assert.deepEqual(await refusals("tools/desk__till__ring"), ["It is locked."]);
    await act(source, ana, "tools/go", { to: "nowhere" });
    assert.deepEqual(
      await refusals(...all),
      all.map(() => true),
    );
  });

  it("does not list offers of a linked actor that does not exist, and calls to them get the reason", async () => {
    const { source } = rooms();
    await act(source, ana, "tools/move", { to: "nowhere" });
    assert.deepEqual(await tools(source, ana), ["move", "inventory"]);
    const absent = { refused: { code: "NOT_NOW", message: "There is no room there now." } };
    assert.deepEqual(await act(source, ana, "tools/pick_up", { item: "torch" }), absent);
    assert.deepEqual(await act(source, ana, "resources/things"), absent);
    assert.equal((await source.surface(ana)).off["tools/pick_up"], "There is no room there now.");
  });

  it("joins links by underscores or, on request, by dots, and cuts cycles of kinds #sources.links", async () => {
    const node = actor("node", {
      description: "Links to its like.",
      state: z.object({}),
      links: { peer: { kinds: ["node", "leaf"], to: () => "leaf/one" } },
      tools: { ping: { description: "Answers.", view: () => "pong" } },
    });
    const leaf = actor("leaf", {
      description: "Links back.",
      per: "link",
      state: z.object({}),
      links: { back: { kinds: ["node"], to: () => "node/main" } },
      tools: { ping: { description: "Answers.", run: () => "leaf" } },
      resources: { it: { uri: "leaf://{alias}/it", view: () => "it" } },
    });
    for (const [names, linked] of [
      [undefined, "peer__ping"],
      ["underscores", "peer__ping"],
      ["dots", "peer.ping"],
    ] as const) {
      const { source, engine } = serve([node, leaf], names === undefined ? {} : { names });
      engine.put("leaf/one", {});
      assert.deepEqual(await tools(source, ana), ["ping", linked]);
      assert.deepEqual(await act(source, ana, `tools/${linked}`), { ok: "leaf" });
      assert.equal((await source.surface(ana)).catalogue.resources[0]?.definition["uri"], "leaf://peer/it");
    }
  });

  it("refuses a name that the APIs of models refuse, unless names is dots", () => {
    const dotted = actor("dotted", {
      description: "Has a tool whose name has a dot.",
      state: z.object({}),
      tools: { "look.up": { description: "Looks.", view: () => 1 } },
    });
    const remedy = /dotted offers tools\/"look\.up".*the APIs of models take no other names\. .*or give names: "dots" \(--names dots\)/;
    assert.throws(() => serve([dotted]), { code: "BAD_NAME", message: remedy });
    serve([dotted], { names: "dots" });
    const option = { code: "BAD_OPTION", message: /names has to be "underscores"/ };
    // @ts-expect-error There is no such style.
    assert.throws(() => serve([dotted], { names: "dot" }), option);
  });

  it("refuses two offers of one name or URI, naming both kinds", () => {
    const twin = actor("twin", {
      description: "Also counts.",
      state: z.object({}),
      tools: { add: { description: "Adds.", view: () => 1 } },
    });
    assert.throws(() => serve([counter, twin]), { code: "NAME_COLLISION", message: /tools\/add is offered by twin and by counter/ });
    const uri = actor("uri", {
      description: "Same URI.",
      state: z.object({}),
      resources: { other: { uri: "counter://main/count", view: () => 1 } },
    });
    assert.throws(() => serve([counter, uri]), {
      code: "NAME_COLLISION",
      message: /resources\/other of uri and resources\/count of counter/,
    });
    assert.throws(() => serve([player]), isCoded("BAD_DEFINITION"));
  });

  it("kinds that exclude each other may share an offer that they define alike", async () => {
    const hub = actor("hub", {
      description: "Hub.",
      state: z.object({ to: z.string().default("chime/one") }),
      links: { "": { kinds: ["chime", "gong"], to: ({ state }) => (state.to === "gong/one" ? "gong/one" : "chime/one") } },
      tools: {
        turn: {
          description: "Turns.",
          run({ state }) {
            state.to = "gong/one";
          },
        },
      },
    });
    const { source, engine } = serve([hub, ringer("chime", "Rings."), ringer("gong", "Rings.")]);
    engine.put("chime/one", {});
    engine.put("gong/one", {});
    assert.deepEqual(await tools(source, ana), ["turn", "ring"]);
    assert.deepEqual(await act(source, ana, "tools/ring"), { ok: "chime" });
    await act(source, ana, "tools/turn");
    assert.deepEqual(await act(source, ana, "tools/ring"), { ok: "gong" });
    assert.throws(() => serve([hub, ringer("chime", "Rings."), ringer("gong", "Booms.")]), {
      code: "NAME_COLLISION",
      message: /chime.*gong|gong.*chime/,
    });
  });

  it("completes from the choices of the actor that is linked now #sources.choices", async () => {
    const { source } = rooms();
    assert.deepEqual(await source.complete?.(ana, "tools/pick_up", "item", "T", {}), ["torch"]);
    await act(source, ana, "tools/move", { to: "cave" });
    assert.deepEqual(await source.complete?.(ana, "tools/pick_up", "item", "", {}), []);
    assert.deepEqual(await source.complete?.(ana, "tools/none", "item", "", {}), []);
  });

  it("lists all planned actors, and reports links to more than the limit", async () => {
    const kinds = Array.from({ length: 400 }, (_, at) =>
      actor(`kind${at}`, {
        description: "One of many.",
        per: "shared",
        state: z.object({ n: z.number().default(0) }),
        tools: { [`tool${at}`]: { description: "Looks.", view: () => at } },
      }),
    );
    const faults: string[] = [];
    const onFault = (error: unknown): void => void faults.push(String(error));
    const { source } = serve(kinds, { onFault });
    assert.equal((await tools(source, ana)).length, 400);
    assert.deepEqual(faults, []);

    const leaf: Behaviour = {
      kind: "leaf",
      version: 1,
      policy: counter.policy,
      per: "link",
      initial: () => null,
      receive: () => ({}),
      surface: () => ({
        catalogue: {
          tools: [{ name: "look", action: "look", readOnly: true, definition: { inputSchema: { type: "object" } } }],
          resources: [],
          prompts: [],
        },
        off: {},
      }),
    };
    const hub: Behaviour = {
      ...leaf,
      kind: "hub",
      per: "shared",
      surface: () => ({
        catalogue: { tools: [], resources: [], prompts: [] },
        off: {},
        links: Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`to${at}`, `leaf/${at}` as const])),
      }),
    };
    const wide = serve([hub, leaf], { onFault });
    for (let at = 0; at < 300; at += 1) wide.engine.put(`leaf/${at}`, null);
    assert.equal((await tools(wide.source, ana)).length, 255);
    await tools(wide.source, bob);
    assert.equal(faults.length, 1);
    assert.match(faults[0] ?? "", /More than 256 actors can be met by one viewer here/);
  });

  it("computes a surface once per head and viewer #spec.7.performance.cache", async () => {
    let computed = 0;
    const counting: typeof room = {
      ...room,
      surface: (state, viewer) => {
        computed += 1;
        return room.surface(state, viewer);
      },
    };
    const { source, engine } = serve([player, counting]);
    engine.put("room/hall", { items: ["torch"], dark: false });
    for (let i = 0; i < 5; i++) await source.surface(ana);
    assert.equal(computed, 1);
    assert.equal(await source.surface(ana), await source.surface(ana));
    engine.put("room/hall", { items: ["torch", "key"], dark: false });
    for (let i = 0; i < 5; i++) await source.surface(ana);
    assert.equal(computed, 2);
  });

  it("a broken linked actor is reported, and does not break the viewer's lists", async () => {
    const faults: string[] = [];
    const broken: Behaviour = {
      ...room,
      surface: () => {
        throw new Error("no");
      },
    };
    const { source, engine } = serve([player, broken], { onFault: (_error, id) => faults.push(id) });
    engine.put("room/hall", { items: [], dark: false });
    assert.deepEqual(await tools(source, ana), ["move", "inventory"]);
    assert.deepEqual(await act(source, ana, "tools/look"), { refused: { code: "NOT_NOW", message: "This room is out of order." } });
    assert.deepEqual(faults, ["room/hall"]);
  });

  it("reports an invalid first state once, for all looks and viewers", async () => {
    const faults: unknown[] = [];
    const broken: Behaviour = {
      ...player,
      initial: () => {
        throw new Error("no");
      },
    };
    const { source } = serve([broken, room], { onFault: (error, id) => faults.push([String(error), id]) });
    for (const who of [ana, ana, { principal: "ben", scopes: [] }]) await tools(source, who);
    assert.deepEqual(faults, [["Error: no", "player/ana"]]);
  });

  it("reports a view that throws; its caller only learns that it failed", async () => {
    const faults: unknown[] = [];
    const broken: Behaviour = {
      ...player,
      view: () => {
        throw new Error("no");
      },
    };
    const { source } = serve([broken, room], { onFault: (error, id) => faults.push([error instanceof Error && error.message, id]) });
    await assert.rejects(act(source, ana, "tools/inventory"), { code: "CRASHED", message: /failed; nothing was changed/ });
    assert.deepEqual(faults, [["no", "player/ana"]]);
  });
});

describe("cast: kinds whose catalogues are not known ahead", () => {
  const guest: Behaviour<{ readonly tools: readonly string[]; readonly to?: string }> = {
    kind: "guest",
    version: 1,
    per: "shared",
    policy: counter.policy,
    initial: () => ({ tools: ["a"] }),
    receive: (state, { action }) =>
      action === "grow" ? { state: { ...state, tools: [...state.tools, "b"] } } : { reply: { ok: `did ${action}` } },
    surface: (state) => ({
      catalogue: {
        tools: ["grow", ...state.tools].map((name) => ({
          name,
          action: name,
          readOnly: false,
          definition: { inputSchema: { type: "object" } },
        })),
        resources: [],
        prompts: [],
      },
      off: {},
      links: { deep: "counter/other", again: "guest/main" },
    }),
  };

  it("are listed by their state, are not treated as static, and are not followed in cycles #sources.links", async () => {
    const linked = { ...counter, per: "link" as const };
    const { source, engine } = serve([guest, linked]);
    engine.put("counter/other", { count: 3 });
    assert.deepEqual(await tools(source, ana), ["grow", "a", "deep__add", "deep__get", "deep__reset"]);
    assert.notEqual((await source.surface(ana)).links, undefined);
    assert.deepEqual(await act(source, ana, "tools/deep__get"), { ok: 3 });
    assert.equal(code(await act(source, ana, "tools/b")), "UNKNOWN");
    await act(source, ana, "tools/grow");
    assert.deepEqual(await act(source, ana, "tools/b"), { ok: "did b" });
    assert.equal(code(await act(source, ana, "tools/deep__secret")), "UNKNOWN");
  });
});
