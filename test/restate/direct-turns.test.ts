// Turns that are answered without the SDK, on a real server: through a network that cuts what they say.
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { verify } from "../../src/core/chain/index.ts";
import { keyText } from "../../src/hosts/restate/key-text.fixture.ts";
import { isRestateSdk, RestateEngine } from "../../src/hosts/restate/index.ts";
import { chainOf, tallyKind } from "../../src/testing/conformance/index.ts";
import { folder } from "../quest-client.ts";
import { cuttingEndpoint } from "./cutting-endpoint.ts";
import { install } from "./install.ts";
import { RestateServer } from "./restate-server.ts";

const ID = "tally/main";
const OUTPUT = 0x0401;
const SET = 0x0403;
const END = 0x0003;

test("law 4: a turn that is cut after any of its frames is answered by another attempt, and applied once #cluster.direct", async () => {
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
  const add = async (pad = ""): Promise<readonly (readonly number[])[]> => {
    network.answered.length = 0;
    const reply = await engine.call({ to: ID, action: "add", args: { by: 1, pad }, start: null });
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
  // What comes again is longer by what was said, and what has begun here cannot end elsewhere.
  network.cuts.push(1, 1);
  assert.deepEqual((await add("long".repeat(40_000))).flat(), plain);
  const chain = await chainOf(engine, ID);
  assert.equal(chain.length, calls.made);
  assert.equal(verify(chain, { actor: ID }).flaw, undefined);
});

test("what the server signs goes without the SDK too, and what another would have to sign runs nowhere #cluster.direct", async () => {
  const { server: executable, sdk } = await install();
  assert.ok(isRestateSdk(sdk));
  using files = folder();
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const [key, signing] = [join(files.path, "identity.pem"), join(files.path, "signing-server")];
  writeFileSync(key, privateKey.export({ format: "pem", type: "pkcs8" }));
  writeFileSync(signing, `#!/bin/sh\nRESTATE_REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE="${key}" exec "${executable}" "$@"\n`);
  chmodSync(signing, 0o700);
  await using server = await RestateServer.start(signing, { partitions: 1 });
  const begin = (identityKey: string): Promise<RestateEngine> =>
    RestateEngine.start({
      ingress: server.ingress,
      sdk,
      kinds: [tallyKind("tally")],
      secret: Buffer.alloc(32, 1),
      identityKeys: [identityKey],
    });
  await using engine = await begin(keyText(publicKey));
  await using network = await cuttingEndpoint(engine.url);
  await server.register(network.url);
  for (let n = 1; n < 4; n += 1) assert.deepEqual(await engine.call({ to: ID, action: "add", args: { by: 1 }, start: null }), { ok: n });
  assert.deepEqual(
    network.answered.slice(1).map((frames) => frames.map((frame) => frame.readUInt16BE(0))),
    [
      [OUTPUT, SET, END],
      [OUTPUT, SET, END],
    ],
  );
  await using other = await begin(keyText(generateKeyPairSync("ed25519").publicKey));
  await assert.rejects(server.register(other.url), /401|identity/);
});
