import assert from "node:assert/strict";
import { test } from "node:test";
import type { OfferRef, Reply, Source, Surface } from "../../core/contract/index.ts";
import { subscribable } from "./find-offer.ts";

const viewer = { principal: "iss|ann", scopes: [] };

const surface: Surface = {
  catalogue: {
    tools: [],
    prompts: [],
    resources: [
      { name: "door", action: "door", readOnly: true, definition: { name: "door", uri: "door://state" } },
      { name: "part", action: "part", readOnly: true, definition: { name: "part", uriTemplate: "door://part/{name}" } },
      { name: "hidden", action: "hidden", readOnly: true, definition: { name: "hidden", uri: "door://hidden" } },
      { name: "shut", action: "shut", readOnly: true, definition: { name: "shut", uri: "door://shut" } },
      {
        name: "guarded",
        action: "guarded",
        readOnly: true,
        definition: { name: "guarded", uri: "door://guarded", _meta: { "troupe/scopes": ["keys"] } },
      },
    ],
  },
  off: { "resources/hidden": true, "resources/shut": "It is shut." },
};

function reading(act: Source["act"]): { readonly source: Source; readonly read: OfferRef[] } {
  const read: OfferRef[] = [];
  const source: Source = {
    surface: () => surface,
    watch: () => () => undefined,
    act(who, ref, args, options) {
      read.push(ref);
      return act(who, ref, args, options);
    },
  };
  return { source, read };
}

const refused = (code: string): Reply => ({ refused: { code, message: "No." } });

test("C8 a fixed URI can be subscribed to without a read unless it is hidden", async () => {
  const { source, read } = reading(async () => ({ ok: null }));
  assert.equal((await subscribable(source, viewer, surface, "door://state"))?.ref, "resources/door");
  assert.equal((await subscribable(source, viewer, surface, "door://shut"))?.ref, "resources/shut");
  assert.equal(await subscribable(source, viewer, surface, "door://hidden"), undefined);
  assert.equal(await subscribable(source, viewer, surface, "door://none"), undefined);
  assert.deepEqual(read, []);
});

test("C8 a URI that needs a scope can be subscribed to only with that scope", async () => {
  const { source } = reading(async () => ({ ok: null }));
  assert.equal(await subscribable(source, viewer, surface, "door://guarded"), undefined);
  assert.equal((await subscribable(source, { ...viewer, scopes: ["keys"] }, surface, "door://guarded"))?.ref, "resources/guarded");
});

test("C8 a URI of a template can be subscribed to if the viewer can read it", async () => {
  const { source } = reading(async (_viewer, _ref, args) =>
    JSON.stringify(args) === '{"name":"hinge"}' ? { ok: "iron" } : refused("UNKNOWN"),
  );
  assert.deepEqual((await subscribable(source, viewer, surface, "door://part/hinge"))?.args, { name: "hinge" });
  assert.equal(await subscribable(source, viewer, surface, "door://part/of-somebody-else"), undefined);
});

test("a resource that is off with a reason can be subscribed to, one that fails cannot", async () => {
  const not = reading(async () => refused("NOT_NOW"));
  assert.notEqual(await subscribable(not.source, viewer, surface, "door://part/hinge"), undefined);
  const failing = reading(() => Promise.reject(new Error("later")));
  await assert.rejects(subscribable(failing.source, viewer, surface, "door://part/hinge"), /later/);
});
