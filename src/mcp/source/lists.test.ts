import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Catalogue, Offer, OfferRef, Surface } from "../../core/contract/index.ts";
import { changedLists, listed } from "./index.ts";
import * as fc from "fast-check";

function tool(name: string, properties: { readonly [key: string]: { readonly type: string } } = {}): Offer {
  return { name, action: name, readOnly: false, definition: { description: name, inputSchema: { type: "object", properties } } };
}

const catalogue: Catalogue = {
  tools: [tool("look"), tool("take", { item: { type: "string" }, all: { type: "array" } })],
  resources: [
    { name: "state", action: "state", readOnly: true, definition: { name: "inner", uri: "x://state" } },
    { name: "one", action: "one", readOnly: true, definition: { uriTemplate: "x://{id}" } },
  ],
  prompts: [{ name: "start", action: "start", readOnly: true, definition: { description: "Begins." } }],
};

function off(...refs: OfferRef[]): Surface {
  return { catalogue, off: Object.fromEntries(refs.map((ref) => [ref, true as const])) };
}

describe("postures", () => {
  it("the dynamic list is the catalogue without what is off, with choices as enums over a copy", () => {
    const before = JSON.stringify(catalogue);
    const surface: Surface = {
      catalogue,
      off: { "tools/look": "No light.", "resources/one": true },
      choices: { "tools/take": { item: ["torch", "torch", "key"], all: ["a"], unheard: ["x"] }, "prompts/start": { a: ["b"] } },
    };
    const lists = listed(surface, "dynamic");
    assert.deepEqual(lists.tools, [
      {
        name: "take",
        description: "take",
        inputSchema: {
          type: "object",
          properties: { item: { type: "string", enum: ["torch", "key"] }, all: { type: "array", items: { enum: ["a"] } } },
        },
      },
    ]);
    assert.deepEqual(lists.resources, [{ name: "inner", uri: "x://state" }]);
    assert.deepEqual(lists.resourceTemplates, []);
    assert.equal(JSON.stringify(catalogue), before);
  });

  it("the gated list is all that is not hidden, the same object for every viewer", () => {
    const lists = listed({ catalogue, off: { "tools/look": "Not now." }, choices: { "tools/take": { item: ["torch"] } } }, "gated");
    assert.deepEqual(
      lists.tools.map(({ name }) => name),
      ["look", "take"],
    );
    assert.equal(lists, listed({ catalogue, off: {} }, "gated"));
    assert.equal(lists.tools, listed({ catalogue, off: {} }, "dynamic").tools);
    const hiding = listed({ catalogue, off: { "tools/look": true, "tools/take": "Not now." } }, "gated");
    assert.deepEqual(
      hiding.tools.map(({ name }) => name),
      ["take"],
    );
    assert.equal(hiding.tools, listed({ catalogue, off: { "tools/look": true } }, "gated").tools);
  });

  it("leaves an empty choice out of the schema: several clients refuse an empty enum", () => {
    const lists = listed({ catalogue, off: {}, choices: { "tools/take": { item: [] } } }, "dynamic");
    assert.equal(lists.tools, listed({ catalogue, off: {} }, "dynamic").tools);
  });

  it("equal contents are the same array, and only the lists that differ are others", () => {
    const [one, two, three] = [off("tools/look"), off("tools/look"), off("tools/look", "prompts/start")];
    assert.equal(listed(one, "dynamic").tools, listed(two, "dynamic").tools);
    assert.equal(listed(one, "dynamic").tools, listed(three, "dynamic").tools);
    assert.notEqual(listed(one, "dynamic").prompts, listed(three, "dynamic").prompts);
    assert.deepEqual(changedLists(one, two, "dynamic"), []);
    assert.deepEqual(changedLists(one, three, "dynamic"), ["prompts"]);
    assert.deepEqual(changedLists(one, two, "gated"), []);
  });

  const shelf: Catalogue = {
    ...catalogue,
    resources: [
      { name: "all", action: "all", readOnly: true, definition: { uri: "n://all" } },
      { name: "note", action: "note", readOnly: true, listed: true, definition: { uriTemplate: "n://{id}" } },
      { name: "page", action: "page", readOnly: true, listed: true, definition: { uriTemplate: "n://{+id}" } },
    ],
  };
  const behind = (note: readonly string[], page: readonly string[] = []): Surface => ({
    catalogue: shelf,
    off: {},
    choices: { "resources/note": { id: note }, "resources/page": { id: page } },
  });

  it("lists each URI for what is read under it: a resource of its own, else the template that says most of it", () => {
    for (const posture of ["dynamic", "gated"] as const) {
      const surface = behind(["all", "a", "a"], ["a", "b", "all", "in/c"]);
      const uris = (of: Surface) => listed(of, posture).resources.map(({ uri }) => uri);
      assert.deepEqual(uris(surface), ["n://all", "n://a", "n://in/c"]);
      assert.deepEqual(uris({ ...surface, off: { "resources/all": true } }), ["n://a", "n://in/c"], posture);
    }
  });

  it("what is behind a template has not changed where the same is listed", () => {
    for (const posture of ["dynamic", "gated"] as const) {
      const changed = (a: Surface, b: Surface) => changedLists(a, b, posture);
      assert.deepEqual(changed(behind(["a"]), behind(["a", "a", "", "all"])), []);
      assert.deepEqual(changed(behind(["a"]), behind(["a"], ["a"])), []);
      assert.deepEqual(changed(behind(["a"]), behind(["b"])), ["resources"]);
      assert.deepEqual(changed(behind(["a", "b"]), behind(["b", "a"])), ["resources"]);
    }
  });

  it("templates are the same list, whatever stands behind them", () => {
    const [one, same, other] = [behind(["a"]), behind(["a"]), behind(["b"])].map((surface) => listed(surface, "dynamic"));
    assert.equal(one?.resourceTemplates, other?.resourceTemplates);
    assert.equal(one?.resources, same?.resources);
    assert.notEqual(one?.resources, other?.resources);
  });

  it("a list is said to have changed iff its entries differ, also between catalogues", () => {
    const refs: readonly OfferRef[] = ["tools/look", "tools/take", "resources/state", "resources/one", "prompts/start"];
    const surfaces = fc
      .tuple(
        fc.subarray([...refs]),
        fc.option(fc.array(fc.constantFrom("a", "b"), { maxLength: 2 })),
        fc.boolean(),
        fc.constantFrom(true, "why"),
      )
      .map(([gone, item, copy, why]): Surface => ({
        catalogue: copy ? { ...catalogue } : catalogue,
        off: Object.fromEntries(gone.map((ref) => [ref, why === true ? true : String(why)])),
        ...(item === null ? {} : { choices: { "tools/take": { item } } }),
      }));
    fc.assert(
      fc.property(surfaces, surfaces, (a, b) => {
        const changed = changedLists(a, b, "dynamic");
        const [was, is] = [listed(a, "dynamic"), listed(b, "dynamic")];
        for (const list of ["tools", "prompts"] as const) {
          assert.equal(changed.includes(list), JSON.stringify(was[list]) !== JSON.stringify(is[list]));
        }
        const resources = (lists: typeof was): string => JSON.stringify([lists.resources, lists.resourceTemplates]);
        assert.equal(changed.includes("resources"), resources(was) !== resources(is));
      }),
    );
  });
});
