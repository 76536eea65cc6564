import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import type { JsonObject, Catalogue, Offer, OfferRef, Surface } from "../../core/contract/index.ts";
import { changedLists, listed } from "./index.ts";
import { templateEntries } from "./lists.ts";
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

describe("lists by listMode", () => {
  it("the dynamic list is the catalogue without what is off, with choices as enums over a copy #actors.choices #sources.list-mode.dynamic", () => {
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

  it("the static list has all that is not hidden, and is one object for all viewers #sources.list-mode.static", () => {
    const lists = listed({ catalogue, off: { "tools/look": "Not now." }, choices: { "tools/take": { item: ["torch"] } } }, "static");
    assert.deepEqual(
      lists.tools.map(({ name }) => name),
      ["look", "take"],
    );
    assert.equal(lists, listed({ catalogue, off: {} }, "static"));
    assert.equal(lists.tools, listed({ catalogue, off: {} }, "dynamic").tools);
    const hiding = listed({ catalogue, off: { "tools/look": true, "tools/take": "Not now." } }, "static");
    assert.deepEqual(
      hiding.tools.map(({ name }) => name),
      ["take"],
    );
    assert.equal(hiding.tools, listed({ catalogue, off: { "tools/look": true } }, "static").tools);
  });

  it("omits an empty choice from the schema: several clients refuse an empty enum #sources.choices", () => {
    const lists = listed({ catalogue, off: {}, choices: { "tools/take": { item: [] } } }, "dynamic");
    assert.equal(lists.tools, listed({ catalogue, off: {} }, "dynamic").tools);
  });

  it("equal lists are the same array", () => {
    const [one, two, three] = [off("tools/look"), off("tools/look"), off("tools/look", "prompts/start")];
    assert.equal(listed(one, "dynamic").tools, listed(two, "dynamic").tools);
    assert.equal(listed(one, "dynamic").tools, listed(three, "dynamic").tools);
    assert.notEqual(listed(one, "dynamic").prompts, listed(three, "dynamic").prompts);
    assert.deepEqual(changedLists(one, two, "dynamic"), []);
    assert.deepEqual(changedLists(one, three, "dynamic"), ["prompts"]);
    assert.deepEqual(changedLists(one, two, "static"), []);
  });

  const bookcase: Catalogue = {
    ...catalogue,
    resources: [
      { name: "all", action: "all", readOnly: true, definition: { uri: "n://all" } },
      { name: "note", action: "note", readOnly: true, listed: true, definition: { uriTemplate: "n://{id}" } },
      { name: "page", action: "page", readOnly: true, listed: true, definition: { uriTemplate: "n://{+id}" } },
    ],
  };
  const behind = (note: readonly string[], page: readonly string[] = []): Surface => ({
    catalogue: bookcase,
    off: {},
    choices: { "resources/note": { id: note }, "resources/page": { id: page } },
  });

  it("lists each URI under what a read finds: a fixed resource, else the most specific template", () => {
    for (const listMode of ["dynamic", "static"] as const) {
      const surface = behind(["all", "a", "a"], ["a", "b", "all", "in/c"]);
      const uris = (of: Surface) => listed(of, listMode).resources.map(({ uri }) => uri);
      assert.deepEqual(uris(surface), ["n://all", "n://a", "n://in/c"]);
      assert.deepEqual(uris({ ...surface, off: { "resources/all": true } }), ["n://a", "n://in/c"], listMode);
    }
  });

  it("a template's values have not changed where the same resources are listed", () => {
    for (const listMode of ["dynamic", "static"] as const) {
      const changed = (a: Surface, b: Surface) => changedLists(a, b, listMode);
      assert.deepEqual(changed(behind(["a"]), behind(["a", "a", "", "all"])), []);
      assert.deepEqual(changed(behind(["a"]), behind(["a"], ["a"])), []);
      assert.deepEqual(changed(behind(["a"]), behind(["b"])), ["resources"]);
      assert.deepEqual(changed(behind(["a", "b"]), behind(["b", "a"])), ["resources"]);
    }
  });

  it("the list of templates does not depend on their values", () => {
    const [one, same, other] = [behind(["a"]), behind(["a"]), behind(["b"])].map((surface) => listed(surface, "dynamic"));
    assert.equal(one?.resourceTemplates, other?.resourceTemplates);
    assert.equal(one?.resources, same?.resources);
    assert.notEqual(one?.resources, other?.resources);
  });

  it("changedLists reports a list iff its entries differ, also between catalogues", () => {
    const refs: readonly OfferRef[] = ["tools/look", "tools/take", "resources/state", "resources/one", "prompts/start"];
    const surfaces = fc
      .tuple(
        fc.subarray([...refs]),
        fc.option(fc.array(fc.constantFrom("a", "b"), { maxLength: 2 })),
        fc.boolean(),
        fc.constantFrom(true, "why"),
      )
      .map(([hidden, item, copy, why]): Surface => ({
        catalogue: copy ? { ...catalogue } : catalogue,
        off: Object.fromEntries(hidden.map((ref) => [ref, why === true ? true : String(why)])),
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

// What stands behind a template: one resource for each value, under a URI that the template takes.

const offer = (definition: JsonObject) => ({ name: "note", action: "note", readOnly: true, listed: true, definition });
const uris = (uriTemplate: string, ...id: string[]): readonly unknown[] =>
  templateEntries(offer({ uriTemplate }), { id }).map(({ uri }) => uri);

test("each value is an entry with its name and the template's other fields", () => {
  const shared = { description: "A note.", mimeType: "text/plain", annotations: { priority: 1 }, _meta: { x: 1 } };
  const definition = { name: "note", uriTemplate: "n://{id}/text", title: "Note", size: 3, ...shared };
  assert.deepEqual(templateEntries(offer(definition), { id: ["a", "b c"] }), [
    { name: "a", title: "Note: a", ...shared, uri: "n://a/text" },
    { name: "b c", title: "Note: b c", ...shared, uri: "n://b%20c/text" },
  ]);
  assert.deepEqual(templateEntries(offer({ uriTemplate: "n://{id}" }), { id: ["a"] }), [{ name: "a", uri: "n://a" }]);
});

test("no entry for values without a URI, one for duplicates, none without exactly one variable", () => {
  assert.deepEqual(uris("n://{id}", "", "a", "\ud800", "a", "x".repeat(5_000)), ["n://a"]);
  assert.deepEqual(uris("n://{id}/{part}", "a"), []);
  assert.deepEqual(uris("n://all", "a"), []);
  assert.deepEqual(templateEntries(offer({ uriTemplate: "n://{id}" }), undefined), []);
  assert.deepEqual(templateEntries(offer({ uriTemplate: "n://{id}" }), { other: ["a"] }), []);
  assert.deepEqual(templateEntries(offer({ uriTemplate: "n://{toString}" }), {}), []);
});

test("unchanged entries are the same objects when others come or go", () => {
  const template = offer({ uriTemplate: "n://{id}" });
  const [a, b] = templateEntries(template, { id: ["a", "b"] });
  const next = templateEntries(template, { id: ["new", "b", "", "a", "b"] });
  assert.deepEqual(
    next.map(({ name }) => name),
    ["new", "b", "a"],
  );
  assert.ok(next[1] === b && next[2] === a);
});

test("no entry whose URI clients cannot parse, or parse as another", () => {
  assert.deepEqual(uris("n://{+id}", "[1]", "C:\\x", "a:b", "a/[1]", "a/x:y"), ["n://a/[1]", "n://a/x:y"]);
  assert.deepEqual(uris("https://{id}/x", "a b", "a"), ["https://a/x"]);
  assert.deepEqual(uris("n:///{+id}", "..", ".", "a/../b", "a/./b", "../a", "a/..", "..?a", "..a/b..", "a/...", ".git/x"), [
    "n:///..a/b..",
    "n:///a/...",
    "n:///.git/x",
  ]);
  assert.deepEqual(uris("n://x/{id}/y", "..", "a"), ["n://x/a/y"]);
  assert.deepEqual(uris("n://x/a{id}", "..", "/.."), ["n://x/a..", "n://x/a%2F.."]);
});

test("values are encoded by RFC 6570, so that they are read back", () => {
  assert.deepEqual(uris("n://{id}", "a/b?c#d", "it's (1*)!", "100%", "é~_-."), [
    "n://a%2Fb%3Fc%23d",
    "n://it%27s%20%281%2A%29%21",
    "n://100%25",
    "n://%C3%A9~_-.",
  ]);
  assert.deepEqual(uris("f:///{+id}", "src/a b.ts", "q?x=[1]#y", "100%41"), ["f:///src/a%20b.ts", "f:///q?x=[1]#y", "f:///100%2541"]);
  const texts = fc.string({ unit: "binary", minLength: 1, maxLength: 20 }).filter((text) => text.isWellFormed());
  fc.assert(
    fc.property(texts, fc.constantFrom("", "+"), (value, operator) => {
      const [uri] = uris(`n://x/a{${operator}id}`, value);
      fc.pre(uri !== undefined || !/\/\.\.?(?:[/?#]|$)/.test(value));
      assert.ok(typeof uri === "string");
      assert.match(uri, /^[\w.~:/?#[\]@!$&'()*+,;=%-]+$/u);
      assert.equal(decodeURIComponent(uri.slice(7)), value);
    }),
  );
});
