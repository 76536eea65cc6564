import assert from "node:assert/strict";
import { test } from "node:test";
import { remoteStage } from "../../src/bridges/theater/remote/remote-stage.ts";
import { manifestOf, openServer } from "./own-places.ts";

test("what an actor was started from is told over TCP, whoever started it", async () => {
  await using server = await openServer();
  await using mine = remoteStage({ port: server.door.port });
  await using others = remoteStage({ port: server.door.port });
  const inline = await mine.start({ manifest: manifestOf("echo") });
  const kind = await mine.start({ manifest: "kind:door" });
  for (const { id } of [inline, kind]) {
    const [here, there] = [await mine.actor(id), await others.actor(id)];
    assert.deepEqual([there.manifest, there.manifestContent], [here.manifest, here.manifestContent]);
  }
  assert.equal((await others.actor(kind.id)).manifest, "kind:door");
  assert.match((await others.actor(inline.id)).manifest ?? "", /^store:[0-9a-f]{64}$/);
});
