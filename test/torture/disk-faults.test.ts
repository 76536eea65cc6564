/** A full disk, read-only directories, failing syncs and damaged files are reported, and never yield wrong data. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { loadWorld, worlds } from "../../examples/mud/index.ts";
import { stateFrom } from "../../src/core/chain/index.ts";
import { sqliteStore } from "../../src/core/store/index.ts";
import { troupe } from "../cli/run.ts";
import { root } from "../serve-child.ts";
import { at, opened, resumed } from "../wire.ts";
import { Ledger } from "./ledger.ts";
import { callTool, type CallOutcome, type LightClient, lightClient, offeredNow } from "./light-client.ts";
import { RestartableServer } from "./restartable-server.ts";
import { LOOKS, randomAct } from "./random-player.ts";
import { seeded, withSeed } from "./seed.ts";
import { checkRest } from "./world-check.ts";

const COUNTER = "examples/counter-disk";

const folder = () => {
  const path = mkdtempSync(join(tmpdir(), "troupe-starve-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

/** A server with a disk whose faults the test controls. */
const serverWithFaultyDisk = (module: string, path: string) => {
  const file = join(path, "disk");
  const preload = pathToFileURL(join(import.meta.dirname, "disk-fault.ts")).href;
  const environment = { TROUPE_TEST_DISK: file, NODE_OPTIONS: `--import=${preload}` };
  const server = new RestartableServer([module, "--receipts", "--rate", "0"], { data: join(path, "data"), environment });
  return { server, disk: (fault: "well" | "full" | "sync") => writeFileSync(file, fault) };
};

const logged = (server: RestartableServer, event: string): Readonly<Record<string, unknown>> | undefined =>
  server.log
    .map((line): Readonly<Record<string, unknown>> => {
      const parsed: unknown = JSON.parse(line);
      return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
    })
    .find((line) => line["event"] === event);

/** Runs a command as an unprivileged user, since root may write everywhere. */
const asUser = (...args: readonly string[]): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> =>
  new Promise((settle) => {
    const user = process.geteuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    execFile(process.execPath, [join(root, "bin/troupe.js"), ...args], { cwd: root, ...user }, (error, stdout, stderr) => {
      settle({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, stdout, stderr });
    });
  });

const ERROR_CODE = { full: /STORE_FULL/u, sync: /STORE_IO/u } as const;

for (const fault of ["full", "sync"] as const) {
  test(`C2 a disk that ${fault === "full" ? "is full" : "fails to sync"} is reported with its code, loses no acknowledged call, and may recover`, async () => {
    using place = folder();
    const { server, disk } = serverWithFaultyDisk(COUNTER, place.path);
    await using _ = server;
    await server.start();
    const url = await server.url;
    const client = lightClient("modern", undefined);
    const ledger = new Ledger();
    const failed: { readonly by: number; readonly call: { readonly id: string; readonly trace: string } }[] = [];
    let total = 0;
    const add = async (by: number, call: { readonly id: string; readonly trace: string }): Promise<CallOutcome> =>
      callTool(client, url, "add", { by }, call);
    for (let n = 0; n < 300 && failed.length < 20; n += 1) {
      if (n === 20) disk(fault);
      const by = 1 + n;
      const { call, trace } = ledger.open(`add ${by}`, false);
      const reply = await add(by, { id: call.id, trace });
      if ("fault" in reply) {
        assert.ok(n >= 20, JSON.stringify(reply));
        assert.match(JSON.stringify(reply.fault.data), ERROR_CODE[fault]);
        assert.equal(at(reply.fault.data, "applied"), false);
        assert.match(reply.fault.message, /nothing was applied/u);
        failed.push({ by, call: { id: call.id, trace } });
        continue;
      }
      total += by;
      assert.equal(reply.text, String(total));
      call.outcome = "ok";
      if (reply.receipt !== undefined) call.receipt = reply.receipt;
    }
    assert.equal(failed.length, 20, "calls fail while the disk is faulty");
    const got = await callTool(client, url, "get", {}, { id: "get", trace: "" });
    assert.equal("text" in got && got.text, String(total), "stored state can still be read");

    // Killed with a faulty disk and restarted with a good one: refused calls are not stored.
    if (fault === "sync") await server.kill();
    disk("well");
    if (fault === "sync") await server.start();
    const again = await server.url;
    for (const { by, call } of failed) {
      const reply = await callTool(client, again, "add", { by }, call);
      assert.ok("text" in reply, JSON.stringify(reply));
      total += by;
      assert.equal(reply.text, String(total));
    }
    assert.equal(await server.stop(), 0);
    await using store = sqliteStore({ directory: server.data, readOnly: true });
    await ledger.check(store);
    assert.deepEqual(stateFrom((await store.load("counter/main"))?.tail ?? []).state, { count: total });
    const { code, stdout } = await troupe("verify", "--data", server.data, "--receipt", JSON.stringify(ledger.receipts.at(-1)));
    assert.equal(code, 0, stdout);
  });
}

test("C2 C5 an intermittent disk under the MUD loses no item, acknowledged call or message in transit", async () => {
  const random = seeded(7);
  await withSeed(random.seed, async () => {
    using place = folder();
    const [file = ""] = worlds;
    const world = loadWorld(file);
    const { server, disk } = serverWithFaultyDisk("examples/mud", place.path);
    await using _ = server;
    await server.start();
    const url = await server.url;
    const ledger = new Ledger();
    const names = ["Ann", "Bob", "Cyd", "Dan"];
    const game = { over: false };
    let faults = 0;
    // Without a key, each legacy session is a principal. Sessions begin while the disk is well: else they are refused.
    const clients = names.map(() => lightClient("legacy", undefined));
    for (const client of clients) await offeredNow(client, url);
    const play = async (client: LightClient): Promise<void> => {
      while (!game.over) {
        const offered = await offeredNow(client, url);
        const act = randomAct(random, world, names, offered);
        const { call, trace } = ledger.open(`${act.tool} ${JSON.stringify(act.args)}`, LOOKS.has(act.tool));
        for (;;) {
          const reply = await callTool(client, url, act.tool, act.args, { id: call.id, trace });
          if ("fault" in reply) {
            assert.match(JSON.stringify(reply.fault), /STORE_FULL|STORE_IO|NOT_APPLIED/u);
            faults += 1;
            await sleep(2);
            continue;
          }
          call.outcome = reply.refused ? "refused" : "ok";
          if (reply.receipt !== undefined) call.receipt = reply.receipt;
          break;
        }
      }
    };
    const playing = Promise.all(clients.map((client) => play(client)));
    const weather = (async (): Promise<void> => {
      for (let round = 0; round < 16; round += 1) {
        await sleep(60 + random.under(60));
        disk(random.pick(["full", "sync", "sync"] as const) ?? "sync");
        await sleep(40 + random.under(80));
        disk("well");
      }
      game.over = true;
    })();
    await Promise.all([playing, weather]);
    {
      await using reader = sqliteStore({ directory: server.data, readOnly: true });
      while ((await reader.undelivered(1)).length > 0) await sleep(20);
    }
    assert.equal(await server.stop(), 0);
    await using store = sqliteStore({ directory: server.data, readOnly: true });
    await checkRest(store, world);
    await ledger.check(store);
    assert.ok(faults > 0 && ledger.count("ok") > 10, `${faults} faults, ${ledger.count("ok")} acknowledged`);
  });
});

test("a read-only directory is reported at the start, and can still be read", async () => {
  using place = folder();
  const data = join(place.path, "data");
  const call = await troupe("call", "counter/main", "tools/add", "{}", "--start", "--module", COUNTER, "--data", data);
  assert.equal(call.code, 0, call.stderr);
  for (const name of readdirSync(data)) chmodSync(join(data, name), 0o444);
  chmodSync(data, 0o555);
  chmodSync(place.path, 0o755);
  try {
    const served = await asUser("serve", COUNTER, "--http", "127.0.0.1:0", "--data", data, "--json");
    assert.equal(served.code, 1, served.stderr);
    const { error } = JSON.parse(served.stderr.trim().split("\n").at(-1) ?? "");
    assert.equal(error.code, "STORE_READ_ONLY");
    assert.match(error.message, /cannot be written\. Check who owns/u);
    const below = await asUser("serve", COUNTER, "--http", "127.0.0.1:0", "--data", join(data, "new"), "--json");
    assert.equal(below.code, 6, below.stderr);
    assert.match(below.stderr, /DATA_DIRECTORY.+Name another with --data/u);
    const state = await asUser("state", "counter/main", "--data", data);
    assert.deepEqual(JSON.parse(state.stdout), { count: 1 });
    assert.equal((await asUser("verify", "--data", data)).code, 0);
  } finally {
    chmodSync(data, 0o755);
  }
});
test("lost or damaged sessions are recreated and logged; actors and idempotency keys remain", async () => {
  using place = folder();
  const server = new RestartableServer([COUNTER, "--receipts"], { data: join(place.path, "data") });
  await using _ = server;
  await server.start();
  const sessions = join(server.data, "sessions.db");
  let total = 0;
  const damages: readonly [event: string, harm: () => void][] = [
    ["sessions-missing", () => ["", "-wal", "-shm"].forEach((end) => rmSync(sessions + end, { force: true }))],
    ["sessions-missing", () => truncateSync(sessions)],
    ["sessions-damaged", () => writeFileSync(sessions, "no database ".repeat(2_000))],
    [
      "sessions-damaged",
      () => {
        // Damaged after the first page: found when a session is read, not at the start.
        rmSync(`${sessions}-wal`, { force: true });
        const bytes = readFileSync(sessions);
        writeFileSync(sessions, bytes.fill(0x5a, 4_096));
      },
    ],
    ["sessions-damaged", () => writeFileSync(sessions, readFileSync(sessions).subarray(0, 5_000))],
  ];
  for (const [event, harm] of damages) {
    const before = await opened(await server.url);
    assert.equal((await before.request("tools/call", { name: "add", arguments: {} })).status, 200);
    total += 1;
    // A clean end checkpoints everything into the one file.
    assert.equal(await server.stop(), 0);
    harm();
    server.log.length = 0;
    await server.start();
    const url = await server.url;
    const lost = await resumed(url, before.id).request("tools/call", { name: "get", arguments: {} });
    assert.equal(lost.status, 404, event);
    const session = await opened(url);
    const { reply } = await session.request("tools/call", { name: "get", arguments: {} });
    assert.equal(at(reply, "result", "content", 0, "text"), String(total), event);
    const entry = logged(server, event);
    assert.ok(entry !== undefined, `${event}: ${server.log.join("\n")}`);
    assert.match(String(entry["what"]), /begin new sessions; actors are all there/u);
    if (event === "sessions-damaged") assert.ok(existsSync(String(entry["aside"])));
  }
});

test("a store that is missing or empty in a used directory is not recreated, and its log stays", async () => {
  using place = folder();
  const server = new RestartableServer([COUNTER, "--receipts"], { data: join(place.path, "data") });
  await using _ = server;
  await server.start();
  const client = lightClient("modern", undefined);
  await callTool(client, await server.url, "add", { by: 7 }, { id: "seven", trace: "" });
  await server.kill();
  const store = join(server.data, "troupe.db");
  const whole = readFileSync(store);
  const log = readFileSync(`${store}-wal`);
  for (const harm of [() => truncateSync(store), () => rmSync(store)]) {
    harm();
    server.log.length = 0;
    assert.equal(await server.start(), undefined);
    assert.equal(await server.ended, 5);
    assert.match(server.log.join("\n"), /STORE_CORRUPT.*gone or is empty.*Restore it from a copy/u);
    assert.deepEqual(readFileSync(`${store}-wal`), log);
    for (const command of [["verify"], ["actors"], ["export"], ["call", "counter/main", "tools/add"]])
      assert.equal((await troupe(...command, "--data", server.data)).code, 5, command[0]);
  }
  writeFileSync(store, whole);
  // A copy without the log: all that a young store has is there.
  const copy = join(place.path, "copy");
  mkdirSync(copy);
  for (const name of ["troupe.db", "server.json"]) copyFileSync(join(server.data, name), join(copy, name));
  for (const command of [["verify"], ["serve", COUNTER, "--http", "0"]]) {
    const { code, stderr } = await troupe(...command, "--data", copy);
    assert.deepEqual([code, /gone or is empty. Restore it from a copy, with the troupe.db-wal/.test(stderr)], [5, true], stderr);
  }
  await server.start();
  assert.match(JSON.stringify(await callTool(client, await server.url, "get", {}, { id: "get", trace: "" })), /"7"/u);
});

test("a log that was removed after a kill is reported, since the last acknowledged calls may be missing", async () => {
  using place = folder();
  const server = new RestartableServer([COUNTER, "--receipts"], { data: join(place.path, "data") });
  await using _ = server;
  await server.start();
  const client = lightClient("modern", undefined);
  await callTool(client, await server.url, "add", { by: 7 }, { id: "seven", trace: "" });
  await server.kill();
  await server.start();
  assert.match(JSON.stringify(await callTool(client, await server.url, "get", {}, { id: "get", trace: "" })), /"7"/u);
  assert.deepEqual(server.log, []);
  await server.kill();
  const log = join(server.data, "troupe.db-wal");
  rmSync(log);
  await server.start();
  await server.url;
  assert.equal(logged(server, "log-missing")?.["path"], log);
  assert.equal(logged(server, "log-missing")?.["level"], "error");
});

test("commands that read report a cut log with exit code 5 and leave it for the server to report", async () => {
  using place = folder();
  const server = new RestartableServer([COUNTER, "--receipts"], { data: join(place.path, "data") });
  await using _ = server;
  await server.start();
  const client = lightClient("modern", undefined);
  await callTool(client, await server.url, "add", { by: 7 }, { id: "seven", trace: "" });
  assert.equal(await server.stop(), 0);
  await server.start();
  await callTool(client, await server.url, "add", { by: 7 }, { id: "again", trace: "" });
  await server.kill();
  const log = join(server.data, "troupe.db-wal");
  const whole = readFileSync(log);
  const readers = [["verify"], ["actors"], ["chain", "counter/main"], ["state", "counter/main"], ["export", join(place.path, "all.jsonl")]];
  for (const harm of [() => truncateSync(log, whole.length - 5_000), () => rmSync(log)]) {
    harm();
    const left = existsSync(log) ? readFileSync(log) : undefined;
    for (const command of readers) {
      const { code, stderr } = await troupe(...command, "--data", server.data);
      assert.equal(code, 5, command.join(" "));
      assert.match(stderr, /turns it acknowledged last are missing; \d+ changed pages/u, command.join(" "));
    }
    assert.deepEqual(existsSync(log) ? readFileSync(log) : undefined, left);
  }
  server.log.length = 0;
  await server.start();
  await server.url;
  const entry = logged(server, "log-missing");
  assert.equal(entry?.["level"], "error");
  assert.ok(Number(entry["frames"]) > 0);
  // Also next to a running server, and until the loss has been acknowledged.
  assert.equal((await troupe("verify", "--data", server.data)).code, 5);
  rmSync(String(entry["alarm"]));
  assert.equal((await troupe("verify", "--data", server.data)).code, 0);
});

test("commands that write report a cut log with exit code 5, too", async () => {
  using place = folder();
  const data = join(place.path, "data");
  const add = ["call", "counter/main", "tools/add", "--module", COUNTER] as const;
  assert.equal((await troupe(...add, "--start", "--data", data)).code, 0);
  const file = join(place.path, "all.jsonl");
  assert.equal((await troupe("export", file, "--data", data)).code, 0);
  {
    const server = new RestartableServer([COUNTER], { data });
    await server.start();
    await callTool(lightClient("modern", undefined), await server.url, "add", { by: 7 }, { id: "seven", trace: "" });
    await server.kill();
  }
  truncateSync(join(data, "troupe.db-wal"), 1_000);
  for (const command of [add, ["checkpoint", "counter/main"], ["prune", "--ended-before", "30d"], ["import", file]] as const) {
    const copy = join(place.path, "copy");
    cpSync(data, copy, { recursive: true, filter: (path) => !path.endsWith(".sock") });
    const { code, stderr } = await troupe(...command, "--data", copy);
    assert.equal(code, 5, `${command.join(" ")}: ${stderr}`);
    assert.match(stderr, /turns it acknowledged last are missing; \d+ changed pages/u, command.join(" "));
    rmSync(copy, { recursive: true });
  }
});

test("a server reports a missing log of what guests hold", async () => {
  using place = folder();
  const server = new RestartableServer([COUNTER, "--theater", "--no-auth"], { data: join(place.path, "data") });
  await using _ = server;
  await server.start();
  await server.kill();
  const log = join(server.data, "content.db-wal");
  rmSync(log);
  server.log.length = 0;
  await server.start();
  assert.equal(logged(server, "log-missing")?.["path"], log);
});

test("a missing key is replaced, which is logged", async () => {
  using place = folder();
  const server = new RestartableServer([COUNTER], { data: join(place.path, "data") });
  await using _ = server;
  await server.start();
  assert.equal(await server.stop(), 0);
  assert.deepEqual(server.log, []);
  rmSync(join(server.data, "key"));
  await server.start();
  await server.url;
  assert.equal(logged(server, "key-replaced")?.["bytes"], 0);
});

test("a truncated key is replaced, which is logged", async () => {
  using place = folder();
  const server = new RestartableServer([COUNTER], { data: join(place.path, "data") });
  await using _ = server;
  await server.start();
  assert.equal(await server.stop(), 0);
  const key = join(server.data, "key");
  const before = readFileSync(key);
  writeFileSync(key, before.subarray(0, 9));
  await server.start();
  assert.match(await server.url, /^http/u);
  assert.equal(logged(server, "key-replaced")?.["bytes"], 9);
  assert.equal(readFileSync(key).length, 32);
  assert.equal(await server.stop(), 0);
  const after = readFileSync(key);
  server.log.length = 0;
  await server.start();
  await server.url;
  assert.deepEqual(server.log, []);
  assert.deepEqual(readFileSync(key), after);
});

test("a server that cannot write its note, as on a full disk, starts and serves", async () => {
  using place = folder();
  const server = new RestartableServer([COUNTER], { data: join(place.path, "data") });
  await using _ = server;
  await server.start();
  const client = lightClient("modern", undefined);
  await callTool(client, await server.url, "add", { by: 7 }, { id: "seven", trace: "" });
  await server.kill();
  mkdirSync(join(server.data, "server.json.new"));
  await server.start();
  const got = await callTool(client, await server.url, "get", {}, { id: "get", trace: "" });
  assert.equal("text" in got && got.text, "7");
  assert.match(server.log.join("\n"), /note-not-written/u);
});
