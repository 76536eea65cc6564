import assert from "node:assert/strict";
import { test } from "node:test";
import { queryObjects } from "node:v8";
import { actor } from "../../core/actor/index.ts";
import type { ActorId, Json, Viewer } from "../../core/contract/index.ts";
import { QuickEngine } from "../../../test/source/fake-engine.ts";
import { cast, listed } from "./index.ts";
import * as z from "zod";

const page = actor("page", {
  describe: "A page.",
  per: "user",
  state: z.object({ text: z.string().default("") }),
  tools: { wipe: { describe: "Wipes it.", when: ({ text }) => text !== "", run: () => null } },
  resources: { text: { uri: "page://text", view: ({ text }) => text } },
});

/** A state that can be counted. */
class Text {
  readonly [key: string]: Json;
  readonly text = "long";
}

/** Each read finds another object, as after the actor was read from the disk again. */
class Asleep extends QuickEngine {
  override readNow(id: ActorId): ReturnType<QuickEngine["readNow"]> {
    const known = super.readNow(id);
    return known === undefined || known instanceof Promise ? known : { ...known, persistence: "disk", state: new Text() };
  }
}

const ana: Viewer = { principal: "ana", scopes: [] };

test("what was shown of an actor on disk, and who listens to it, holds no state", async () => {
  const engine = new Asleep([page]);
  engine.put("page/ana", { text: "long" });
  const source = cast({ engine, kinds: [page] });
  const undo = source.watch(ana, () => undefined);
  const surface = await source.surface(ana);
  assert.equal(await source.surface(ana), surface, "the same surface while nothing has changed");
  assert.deepEqual(
    listed(surface, "dynamic").tools.map(({ name }) => name),
    ["wipe"],
  );
  assert.deepEqual(await source.act(ana, "resources/text", {}, {}), { ok: "long" });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(queryObjects(Text, { format: "count" }), 0);
  undo();
});
