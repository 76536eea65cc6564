import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type Catalogue,
  CONTENT,
  EngineError,
  type JsonObject,
  type OfferRef,
  type Source,
  type Viewer,
} from "../../core/contract/index.ts";
import { listed, meta } from "./index.ts";
import { act, example, names, viewer as ana } from "../../../test/source/example.ts";
import { checkNames, merge } from "./merge.ts";
import { prefix } from "./prefix.ts";
import { registry } from "./registry.ts";

const viewer: Viewer = { scopes: [] };

const NONE: Catalogue = { tools: [], resources: [], prompts: [] };

const own = () => registry({ name: "own", tools: { native: { work: () => "native" } } });

/** A source that can be unavailable, and counts requests for its surface. */
const fragile = (name: string) => {
  const inner = registry({ tools: { [name]: { work: () => name } } });
  const state = { down: true, requests: 0 };
  const up = (): void => {
    if (state.down) throw new EngineError("CRASHED", `${name} is down.`);
  };
  const source: Source = {
    surface(whose) {
      state.requests += 1;
      up();
      return inner.surface(whose);
    },
    async act(...call) {
      up();
      return inner.act(...call);
    },
    watch: (...watch) => inner.watch(...watch),
  };
  return { source, state };
};

const toolNames = async (source: Source): Promise<readonly string[]> =>
  (await source.surface(viewer)).catalogue.tools.map(({ name }) => name);

describe("merge: a source that fails", () => {
  it("leaves no watches of the others when its watch throws", () => {
    let watches = 0;
    const counted: Source = {
      ...own(),
      watch: () => {
        watches += 1;
        return () => (watches -= 1);
      },
    };
    const unwatchable: Source = {
      ...own(),
      watch: () => {
        throw new EngineError("CRASHED", "unwatchable");
      },
    };
    assert.throws(() => merge(counted, unwatchable, counted).watch(viewer, () => undefined), { message: "unwatchable" });
    assert.equal(watches, 0);
    const undo = merge(counted, counted).watch(viewer, () => undefined);
    assert.equal(watches, 2);
    undo();
    assert.equal(watches, 0);
  });

  it("does not disable the others, and its fault is in the catalogue", async () => {
    const { source: frail, state } = fragile("frail");
    const source = merge(frail, own());
    const { catalogue } = await source.surface(viewer);
    assert.deepEqual(
      catalogue.tools.map(({ name }) => name),
      ["native"],
    );
    assert.deepEqual(
      catalogue.missing?.map(({ code, message }) => [code, message]),
      [["CRASHED", "frail is down."]],
    );
    assert.equal((await source.surface(viewer)).catalogue, catalogue, "so what was derived from it is found again");
    assert.deepEqual(await source.act(viewer, "tools/native", {}, {}), { ok: "native" });
    await assert.rejects(source.act(viewer, "tools/frail", {}, {}), { code: "CRASHED", message: "frail is down." });
    state.down = false;
    assert.deepEqual(await toolNames(source), ["frail", "native"]);
    assert.equal((await source.surface(viewer)).catalogue.missing, undefined);
    assert.deepEqual(await source.act(viewer, "tools/frail", {}, {}), { ok: "frail" });
  });

  it("does not delay calls to the others", async () => {
    const { source: frail, state } = fragile("frail");
    const source = merge(frail, own());
    assert.equal(source.catalogue?.(viewer), undefined, "not known yet");
    await source.surface(viewer);
    const { requests } = state;
    assert.deepEqual(
      source.catalogue?.(viewer)?.tools.map(({ name }) => name),
      ["native"],
    );
    assert.equal(source.catalogue?.(viewer)?.missing?.length, 1);
    assert.equal(state.requests, requests);
  });

  it("notifies viewers of incomplete lists once it is available again", async () => {
    const { source: frail, state } = fragile("frail");
    const source = merge(own(), frail);
    const flags: (OfferRef | undefined)[] = [];
    const undo = source.watch(viewer, (ref) => flags.push(ref));
    const other = source.watch({ principal: "ada", scopes: [] }, () => assert.fail("ada never got an incomplete list"));
    await source.surface(viewer);
    await source.surface(viewer);
    assert.deepEqual(flags, []);
    state.down = false;
    await source.surface(viewer);
    await source.surface(viewer);
    assert.deepEqual(flags, [undefined]);
    undo();
    other();
  });

  it("is an error where nothing else is offered; any throw is a fault", async () => {
    await assert.rejects(async () => merge(registry({}), fragile("frail").source).surface(viewer), { message: "frail is down." });
    const broken: Source = {
      ...fragile("broken").source,
      surface() {
        throw new Error("secret");
      },
    };
    const { missing } = (await merge(own(), broken).surface(viewer)).catalogue;
    assert.deepEqual(
      missing?.map(({ code, message }) => [code, message]),
      [["CRASHED", "source 2 cannot say what it offers."]],
    );
  });

  it("law 3: gives a hidden action and an unknown one the same answer", async () => {
    const hidden = registry({
      tools: {
        hidden: { enabled: () => false, work: () => "never" },
        locked: { enabled: () => false, meta: { "troupe/scopes": ["admin"] }, work: () => "never" },
      },
    });
    const source = meta(merge(own(), hidden, fragile("frail").source));
    for (const action of ["unknown", "hidden", "locked"])
      await assert.rejects(source.act(viewer, "tools/act", { action }, {}), { message: "frail is down." });
  });

  it("still leads to a refusal of two offers of one name", async () => {
    const source = merge(own(), merge(own(), registry({ tools: { native: { work: () => 1 } } })), fragile("frail").source);
    await assert.rejects(async () => source.surface(viewer), { code: "NAME_COLLISION" });
  });
});

describe("merge: names that are known ahead", () => {
  const unplanned = (): Source => {
    const inner = own();
    return {
      surface: (whose) => inner.surface(whose),
      act: (...call) => inner.act(...call),
      watch: (...watch) => inner.watch(...watch),
    };
  };

  it("collide before the first request", () => {
    assert.throws(() => checkNames(own(), unplanned(), own()), {
      code: "NAME_COLLISION",
      message: /tools\/native is offered by the registry "own" and by/,
    });
  });

  it("include those for viewers with a principal", () => {
    const ofKnown: Source = {
      ...unplanned(),
      catalogue: ({ principal }) => (principal === undefined ? NONE : own().catalogue?.({ scopes: [] })),
    };
    assert.throws(() => checkNames(own(), ofKnown), { code: "NAME_COLLISION" });
  });

  it("exclude those that a source only gives on request, or fails to give", () => {
    const failing: Source = {
      ...unplanned(),
      catalogue() {
        throw new Error("down");
      },
    };
    checkNames(own(), unplanned(), failing);
  });
});

describe("prefix: a name that no client could use", () => {
  it("is omitted, and the rest is served", async () => {
    const long = "b".repeat(60);
    const inner = registry({ tools: { look: { work: () => "seen" }, [long]: { work: () => "" } } });
    const source = merge(own(), prefix("a", inner), prefix("c".repeat(70), own()));
    const { catalogue } = await source.surface(viewer);
    assert.deepEqual(
      catalogue.tools.map(({ name }) => name),
      ["native", "a__look", `a__${long}`],
    );
    assert.deepEqual(
      catalogue.missing?.map(({ code }) => code),
      ["BAD_NAME"],
    );
    inner.add({ tools: { [`${long}bb`]: { work: () => "" } } });
    assert.deepEqual(await toolNames(source), ["native", "a__look", `a__${long}`]);
    assert.equal((await source.surface(viewer)).catalogue.missing?.length, 2);
    assert.deepEqual(await source.act(viewer, "tools/a__look", {}, {}), { ok: "seen" });
  });
});

describe("merge: instructions", () => {
  it("name the prefixes they are about, each text once", () => {
    const says = (instructions: string) => registry({ instructions });
    const source = merge(says("Be kind."), prefix("one", says("Begin."), "dots"), prefix("two", says("Begin.")), says("Be kind."));
    assert.equal(source.instructions, 'Be kind.\n\nAbout everything here whose name begins with "one." or "two__":\nBegin.');
    assert.equal(prefix("one", says("Begin.")).instructions, 'About everything here whose name begins with "one__":\nBegin.');
    assert.equal(merge(registry({}), prefix("one", registry({}))).instructions, undefined);
  });
});

describe("merge and prefix", () => {
  it("serve several sources as one, and route each name to its source #sources.merge", async () => {
    const one = example().source;
    const two = registry({ instructions: "Be quick.", tools: { other: { work: () => "other" } } });
    const source = merge(one, two);
    assert.equal(source.instructions, "Be kind.\n\nBe quick.");
    assert.ok((await names(source)).includes("other"));
    assert.deepEqual(await act(source, "tools/other"), { ok: "other" });
    assert.deepEqual(await act(source, "tools/add", { a: 1 }), { ok: 2 });
    assert.ok("refused" in (await act(source, "tools/none")));
    assert.equal(await source.surface(ana), await source.surface(ana));
    assert.deepEqual(await source.complete?.(ana, "resources/user", "id", "2", {}), ["2"]);
    const flags: (OfferRef | undefined)[] = [];
    const undo = source.watch(ana, (ref) => flags.push(ref));
    two.relist();
    one.changed("text");
    undo();
    one.relist();
    assert.deepEqual(flags, [undefined, "resources/text"]);
  });

  it("refuse two offers of one name, or of one URI, naming both sources #sources.merge", async () => {
    const source = merge(example().source, registry({ name: "second", tools: { add: { work: () => 1 } } }));
    await assert.rejects(async () => source.surface(ana), {
      code: "NAME_COLLISION",
      message: /tools\/add is offered by the registry "example" and by the registry "second"/,
    });
    const uri = merge(example().source, registry({ resources: { t: { uri: "test://text", view: () => 1 } } }));
    await assert.rejects(async () => uri.surface(ana), { code: "NAME_COLLISION", message: /test:\/\/text/ });
  });

  it("put names and URIs under a prefix, and remove it for the source #sources.prefix", async () => {
    const { source: inner, dim } = example();
    const source = merge(prefix("a", inner), prefix("b", example().source));
    dim();
    const surface = await source.surface(ana);
    assert.deepEqual(surface.off, { "tools/a__read": "It is dark." });
    const { resources, resourceTemplates } = listed(surface, "dynamic");
    assert.deepEqual(
      [...resources, ...resourceTemplates].map(({ uri, uriTemplate }) => uri ?? uriTemplate),
      ["test://a/text", "test://b/text", "test://a/users/{id}", "test://b/users/{id}"],
    );
    assert.deepEqual(await act(source, "tools/b__add", { a: 1 }), { ok: 2 });
    assert.ok("refused" in (await act(source, "tools/add", { a: 1 })));
    assert.deepEqual(await act(source, "resources/a__user", { id: "3" }), { ok: { id: "3" } });
    assert.deepEqual(await source.complete?.(ana, "prompts/a__greet", "name", "", {}), ["Ana"]);
    const flags: (OfferRef | undefined)[] = [];
    const undo = source.watch(ana, (ref) => flags.push(ref));
    const only = source.watch(ana, (ref) => flags.push(ref), { ref: "resources/a__user", args: { id: "1" } });
    inner.changed("user", { id: "1" });
    undo();
    only();
    assert.deepEqual(flags, ["resources/a__user", "resources/a__user"]);
  });

  it("put URIs in results under a prefix if the source's catalogue is not known ahead, too", async () => {
    const link = (id: string): JsonObject => ({ type: "resource_link", uri: `note://${id}`, name: id });
    const inner = registry({
      tools: {
        write: {
          work() {
            inner.add({ resources: { second: { uri: "note://second", view: () => 2 } } });
            return { [CONTENT]: ["second", "elsewhere"].map(link) };
          },
        },
      },
    });
    let isDown = false;
    const source = prefix("a", {
      surface: (whose) => (isDown ? Promise.reject(new Error("It is down.")) : Promise.resolve(inner.surface(whose))),
      act: (...call) => inner.act(...call),
      watch: (...listener) => inner.watch(...listener),
    });
    assert.deepEqual(await act(source, "tools/a__write"), {
      ok: { [CONTENT]: [{ ...link("second"), uri: "note://a/second" }, link("elsewhere")] },
    });
    inner.remove("resources/second");
    isDown = true;
    assert.deepEqual(await act(source, "tools/a__write"), { ok: { [CONTENT]: ["second", "elsewhere"].map(link) } });
  });

  it("offer resources with names of any length, since clients request them by URI", async () => {
    const source = prefix("a", registry({ resources: { ["n".repeat(256)]: { uri: "note://1", view: () => 1 } } }));
    const surface = await source.surface(ana);
    assert.equal(surface.catalogue.missing, undefined);
    assert.deepEqual(
      listed(surface, "dynamic").resources.map(({ uri }) => uri),
      ["note://a/1"],
    );
  });

  it("join names by dots on request, and refuse names that do not fit #cli.serve.strict", async () => {
    assert.ok((await names(prefix("a", example().source))).includes("a__add"));
    assert.ok((await names(prefix("a", example().source, "dots"))).includes("a.add"));
    const tooLong = "a".repeat(70);
    const { tools, missing } = (await prefix(tooLong, example().source).surface(ana)).catalogue;
    assert.deepEqual([tools.length, missing?.[0]?.code], [0, "BAD_NAME"]);
    const nothing = prefix(tooLong, registry({ tools: { only: { work: () => 1 } } }));
    await assert.rejects(async () => nothing.surface(ana), { code: "BAD_NAME" });
  });
});
