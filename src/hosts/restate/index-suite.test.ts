// The handlers that run on Restate pass the suite of indexes, without a server. `test/restate/indexes.test.ts` runs it with one.
import { engineIndexSuite, type IndexedEngine } from "../../testing/conformance/index.ts";
import { errorFrom } from "./outcome.ts";
import { World } from "./world.fixture.ts";

const engineOf = (world: World): IndexedEngine => ({
  async call(outgoing) {
    const outcome = await world.call(outgoing, { settle: false });
    if ("fault" in outcome) throw errorFrom(outcome.fault);
    if (outcome.reply === undefined) throw new TypeError("This reply comes later.");
    return outcome.reply;
  },
  stop: async (id, reason) => void (await world.stop(id, reason)),
  query: (index, query) => world.rows.query(index, query),
  watchIndex: (index, listener) => world.rows.watch(index, listener),
  indexes: world.rows,
});

engineIndexSuite("indexes of the Restate engine", async (kinds) => {
  let world = new World(kinds);
  await world.rows.open();
  return {
    engine: engineOf(world),
    arrived: () => world.settle(),
    async reopen(other) {
      world.rows.close();
      world = new World({ ...other, after: world });
      await world.rows.open();
      return engineOf(world);
    },
    async [Symbol.asyncDispose]() {
      world.rows.close();
    },
  };
});
