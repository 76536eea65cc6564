// A guest that spins takes its worker with it: what becomes of the calls of others in it.
import assert from "node:assert/strict";
import { mkdtempDisposableSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readBody } from "../../src/core/chain/index.ts";
import { until } from "../../src/testing/index.ts";
import { bytes, componentOf, granting, grounds, type Grounds, never, text } from "./grounds.ts";
import { refusal } from "./mischief.ts";
import { onLoopback } from "../on-loopback.ts";

const SPINS = { sandbox: { workers: 1 }, limits: { callMs: 60 } } as const;

/** Once it settles, the worker has ended. */
async function spin({ stage, sandbox }: Grounds): Promise<void> {
  const { killed } = sandbox.measures;
  assert.equal((await refusal(() => stage.request("bad", bytes("l"), never), "bad"))?.code, "ActorError");
  assert.equal(sandbox.measures.killed, killed + 1);
  await stage.restart("bad");
}

const counted = async ({ stage }: Grounds): Promise<string | undefined> => text(await stage.request("counter", bytes(""), never));

test("C5 a call that waits runs again when its worker ends: what it sends is sent once, and what it asked is asked once", async () => {
  await using on = await grounds(SPINS);
  for (const name of ["asker", "hostile", "counter", "later"]) await on.start(name, name === "hostile" ? "bad" : name);
  const script = [
    "message-server-host.send counter add",
    "message-server-host.request later hello",
    "timing.sleep 200",
    "set answered",
  ].join("\n&&\n");
  const asked = on.stage.request("asker", bytes(script), never);
  const waiting = async (): Promise<number> => (text(await on.stage.state("later")) ?? "").split("\n").filter((id) => id !== "").length;
  await until("it waits for the other", async () => (await waiting()) === 1);
  await spin(on);
  await on.stage.send("later", bytes("at last"));
  // While it sleeps.
  await spin(on);
  assert.equal(text(await asked), "ok\n&&\nok at last\n&&\nok\n&&\nok");
  assert.equal(text(await on.stage.state("asker")), "answered");
  await until("it is counted", async () => (await counted(on)) === "1");
  assert.equal(await waiting(), 0);
  for (const name of ["asker", "later", "counter"] as const) {
    assert.deepEqual((await on.guests.reexecute(`guest/${name}`)).mismatches, []);
    assert.equal(await on.flaw(`guest/${name}`), undefined);
  }
});

test("a call that did something outside is not run again: its caller is told, and its event says what was done", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-neighbours-"));
  const heard: string[] = [];
  let answer: () => void = () => undefined;
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url}`);
    if (request.method === "GET") answer = () => response.end("late");
    else response.end("done");
  });
  await using loopback = await onLoopback(server);
  const { url } = loopback;
  await using on = await grounds({ ...SPINS, http: { allowPrivate: true }, directory: folder.path });
  await on.start("hostile", "bad");
  const manifest = `${granting(["environment", "filesystem"])}[[handlers]]\ntype = "http-client"\nconfig = { allowed = ["${url}"] }\n`;
  await on.stage.start({ manifest, component: componentOf("outsider"), name: "outsider", initialState: bytes("as it was") });
  for (const [effect, did] of [
    [`http-client.send-http POST ${url}/ x`, "http-client.send-http"],
    ["filesystem.write-file once.txt written", "filesystem.write-file"],
  ] as const) {
    heard.length = 0;
    const asking = refusal(
      () => on.stage.request("outsider", bytes([effect, `http-client.send-http GET ${url}/ `, "set other"].join("\n&&\n")), never),
      effect,
    );
    await until("it waits", () => heard.includes("GET /"));
    await spin(on);
    answer();
    const error = await asking;
    assert.equal(error?.code, "CommunicationError");
    assert.match(error.message, /lasts.*event's record/u);
    assert.equal(heard.filter((one) => one === "GET /").length, 1);
    assert.equal(heard.filter((one) => one === "POST /").length, did === "http-client.send-http" ? 1 : 0);
    assert.equal(text(await on.stage.state("outsider")), "as it was");
    assert.equal((await on.stage.actor("outsider")).status, "RUNNING");
    const { seq = 1 } = (await on.engine.read("guest/outsider")) ?? {};
    let record = "";
    for await (const event of on.engine.history("guest/outsider", seq - 1)) record = JSON.stringify(readBody(event)?.record);
    assert.match(record, /"end":"lost"/u);
    assert.ok(record.includes(`"did":[{"name":"${did}"`), record);
  }
  const [own = ""] = readdirSync(folder.path);
  assert.equal(readFileSync(join(folder.path, own, "once.txt"), "utf8"), "written");
  const { mismatches, taken } = await on.guests.reexecute("guest/outsider");
  assert.deepEqual([mismatches, taken.lost], [[], 2]);
  assert.equal(await on.flaw("guest/outsider"), undefined);
});

test("a channel that was opened by a call whose end is unknown is closed", async () => {
  await using on = await grounds(SPINS);
  for (const name of ["asker", "hostile", "echo", "later"]) await on.start(name, name === "hostile" ? "bad" : name);
  const script = "message-server-host.open-channel echo hello\n&&\nmessage-server-host.request later hello";
  const asking = refusal(() => on.stage.request("asker", bytes(script), never), "asker");
  await until("it waits for the other", async () => (await on.stage.state("later")) !== undefined);
  await spin(on);
  await on.stage.send("later", bytes("at last"));
  assert.equal((await asking)?.code, "CommunicationError");
  await until("the other end is told", async () => (text(await on.stage.state("echo")) ?? "").startsWith("closed ch_"));
  assert.match(JSON.stringify((await on.engine.read("guest/echo"))?.state), /"channels":\{\}/u);
});
