// Official clients play both worlds to their ending, over every transport and in both eras.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CLIENTS, connect, type Way } from "../clients.ts";
import { withHandle, playToEnding, folder, keep, withoutHandle, saltmarsh } from "../quest-client.ts";
import { serveChild } from "../serve-child.ts";

// The first world shows that all transports are alike, so the second one is played over one only.
const games = [
  { ...keep, doors: ["http", "tcp"], clients: CLIENTS },
  { ...saltmarsh, doors: ["http"], clients: CLIENTS.slice(-1) },
] as const;

for (const { module, world, doors, clients } of games) {
  describe(world.title, () => {
    test(`SDK v1 and v2 finish the quest in one world, in both eras, over ${doors.join(" and ")} #mud.players.many`, async () => {
      await using served = await serveChild([module, "--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]);
      const { http, tcp } = served.ready;
      assert.ok(http !== undefined && tcp !== undefined);
      const ways: Readonly<Record<(typeof doors)[number], Way>> = { http: { http }, tcp: { tcp } };
      for (const way of doors.map((door) => ways[door]))
        for (const which of CLIENTS) {
          await using player = await connect(way, which);
          assert.match(player.instructions ?? "", /Begin with look/);
          // An anonymous request of 2026-07-28 needs a handle; an anonymous legacy session has its own player.
          await playToEnding(world, which.era === "modern" ? await withHandle(player) : withoutHandle(player), player.name);
        }
    });

    for (const which of clients)
      test(`the local player finishes the quest over stdio: SDK ${which.sdk}, ${which.era} #mud.worlds.serve`, async () => {
        using place = folder();
        await using player = await connect({ stdio: module, data: place.path }, which);
        await playToEnding(world, withoutHandle(player), player.name);
      });
  });
}
