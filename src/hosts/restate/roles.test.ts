// What commands request of a node, which has the code of the kinds: the roles of a caller with claims.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor, hasClaim } from "../../core/actor/index.ts";
import { sealer } from "./sealer.ts";
import { World } from "./world.fixture.ts";

const desk = actor("desk", {
  description: "A desk.",
  per: "link",
  state: z.object({}),
  allow: { manager: ({ viewer }) => hasClaim(viewer, "roles", "manager") },
  // Messages of a kind with secrets are sealed.
  messages: { open: { input: z.object({ pin: z.string() }), secret: ["pin"], run: () => undefined } },
});
const hall = actor("hall", {
  description: "A hall.",
  per: "link",
  state: z.object({}),
  allow: { guest: ({ viewer }) => viewer.principal === "ann", owner: () => false },
});

const ask = (input: unknown): Promise<unknown> => {
  const world = new World({ kinds: [desk, hall] });
  return world.ask(world.names.actor("desk/main", "roles"), input);
};

test("a node decides the roles of a caller with claims in all of its kinds, of an actor that never started too", async () => {
  const { seal } = sealer(Buffer.alloc(32, "a secret of this test"));
  const sealed = seal({ principal: "ann", scopes: [], claims: { roles: ["manager"] } });
  assert.deepEqual(await ask(sealed), { value: { desk: ["manager"], hall: ["guest"] } });
  assert.deepEqual(await ask(seal({ scopes: [], claims: {} })), { value: { desk: [], hall: [] } });
});

test("claims that are not sealed, or not with the secret of the nodes, are refused", async () => {
  const codeOf = async (input: unknown): Promise<unknown> => Object(await ask(input)).fault.code;
  const viewer = { principal: "ann", scopes: [], claims: { roles: "manager" } };
  assert.equal(await codeOf(viewer), "BAD_ID");
  assert.equal(await codeOf(sealer(Buffer.alloc(32, "another")).seal(viewer)), "STORE_CORRUPT");
  for (const other of [null, "text", { scopes: "all", claims: {} }, { scopes: [] }, { ...viewer, claims: ["manager"] }])
    assert.equal(await codeOf(sealer(Buffer.alloc(32, "a secret of this test")).seal(other)), "BAD_ID");
});
