// Turns that are answered without the SDK, on a real server: through a network that cuts what they say.
import assert from "node:assert/strict";
import { test } from "node:test";
import { verify } from "../../src/chain/index.ts";
import { isRestateSdk, RestateEngine } from "../../src/restate/index.ts";
import { chainOf, tallyKind } from "../../src/testing/index.ts";
import { cuttingEndpoint } from "./cutting-endpoint.ts";
import { install } from "./install.ts";
import { RestateServer } from "./restate-server.ts";

const ID = "tally/main";
const OUTPUT = 0x0401;
const SET = 0x0403;
const END = 0x0003;

test("law 4: a turn that is cut after any of its frames is answered by another attempt, and applied once", async () => {
  const { server: executable, sdk } = await install();
  assert.ok(isRestateSdk(sdk));
  await using server = await RestateServer.start(executable, { partitions: 1 });
  await using engine = await RestateEngine.start({
    ingress: server.ingress,
    sdk,
    kinds: [tallyKind("tally")],
    secret: Buffer.alloc(32, 1),
  });
  await using network = await cuttingEndpoint(engine.url);
  await server.register(network.url);
  const calls = { made: 0 };
  const add = async (): Promise<readonly (readonly number[])[]> => {
    network.answered.length = 0;
    const reply = await engine.call({ to: ID, action: "add", args: { by: 1 }, start: null });
    calls.made += 1;
    assert.deepEqual(reply, { ok: calls.made });
    return network.answered.map((frames) => frames.map((frame) => frame.readUInt16BE(0)));
  };
  // The actor begins by the SDK, as it is entered where it is found.
  await add();
  const plain = [OUTPUT, SET, END];
  const rolls = [OUTPUT, SET, SET, END];
  assert.deepEqual(await add(), [plain]);
  for (const cuts of [[0], [1], [2], [0, 0], [1, 1], [1, 0, 1]]) {
    network.cuts.push(...cuts);
    const attempts = await add();
    assert.equal(network.cuts.length, 0, "it was cut each time");
    assert.equal(attempts.length, cuts.length + 1);
    assert.deepEqual(attempts.flat(), plain, `cut after ${cuts.join()}: each frame is said once`);
  }
  // The ninth event makes a block of those before it.
  for (const cuts of [[1], [2], [3], [1, 1, 1]]) {
    while (calls.made % 8 !== 0) assert.deepEqual(await add(), [plain]);
    network.cuts.push(...cuts);
    assert.deepEqual((await add()).flat(), rolls, `cut after ${cuts.join()}`);
  }
  const chain = await chainOf(engine, ID);
  assert.equal(chain.length, calls.made);
  assert.equal(verify(chain, { actor: ID }).flaw, undefined);
});
