// The socket by which commands reach the server that holds their directory.
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { lines, running, runningIn, troupe } from "./run.ts";

const MODULE = "examples/counter-disk";

const folder = (): Disposable & { readonly path: string } => {
  const path = mkdtempSync(join(tmpdir(), "troupe-control-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

const pem = (): string => generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();

test("however long the path of the data directory, the control socket lies in it, and nothing in the temporary folder", async () => {
  using place = folder();
  const data = join(place.path, "d".repeat(120), "data");
  const temporary = join(place.path, "tmp");
  mkdirSync(temporary);
  await using served = runningIn({ TMPDIR: temporary }, "serve", MODULE, "--http", "127.0.0.1:0", "--data", data, "--json");
  await served.said(/"ready":true/);
  assert.equal(statSync(join(data, "control.sock")).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(temporary), []);
  const called = await troupe("call", "counter/main", "tools/add", '{"by":2}', "--start", "--data", data, "--json");
  assert.deepEqual(lines(called.stdout), [{ ok: 2 }], called.stderr);
  served.child.kill("SIGTERM");
  assert.equal(await served.ended, 0);
  assert.equal(existsSync(join(data, "control.sock")), false);
});

test("a server whose data directory's link was changed leaves the files of the next server there", async () => {
  using place = folder();
  const [data, next] = [join(place.path, "data"), join(place.path, "next")];
  for (const release of ["first", "second"]) mkdirSync(join(place.path, release), { mode: 0o700 });
  symlinkSync("first", data);
  await using first = running("serve", MODULE, "--http", "127.0.0.1:0", "--data", data, "--json");
  await first.said(/"ready":true/);
  symlinkSync("second", next);
  renameSync(next, data);
  await using second = running("serve", MODULE, "--http", "127.0.0.1:0", "--data", data, "--json");
  await second.said(/"ready":true/);
  const served = readdirSync(data);
  first.child.kill("SIGTERM");
  assert.equal(await first.ended, 0);
  assert.deepEqual(readdirSync(data), served);
  assert.ok(served.includes("control.sock") && served.includes("troupe.db.pid"));
  const left = readdirSync(join(place.path, "first"));
  assert.ok(!left.includes("control.sock") && !left.includes("troupe.db.pid"), left.join(" "));
  const called = await troupe("call", "counter/main", "tools/add", '{"by":2}', "--start", "--data", data, "--json");
  assert.deepEqual(lines(called.stdout), [{ ok: 2 }], called.stderr);
});

test("a signing key is read by who signs with it, and never sent", async () => {
  using place = folder();
  const key = join(place.path, "key.pem");
  writeFileSync(key, pem());
  const data = join(place.path, "data");
  mkdirSync(data);
  let heard = "";
  const server = createServer((socket) => {
    socket.on("data", (chunk: Buffer) => {
      heard += chunk.toString();
      if (heard.endsWith("\n")) socket.end(`${JSON.stringify({ ok: null })}\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(join(data, "control.sock"), resolve));
  await troupe("checkpoint", "counter/main", "--key", key, "--data", data);
  server.close();
  assert.match(heard, /"op":"checkpoint"/);
  assert.doesNotMatch(heard, /PRIVATE KEY/);
});

test("a running server signs a checkpoint with the key in a file, and says what is wrong with one that is none", async () => {
  using place = folder();
  const data = join(place.path, "data");
  const key = join(place.path, "key.pem");
  writeFileSync(key, pem());
  writeFileSync(join(place.path, "words.pem"), "no key at all");
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey.export({ type: "pkcs8", format: "pem" });
  writeFileSync(join(place.path, "rsa.pem"), rsa);
  await using served = running("serve", MODULE, "--http", "127.0.0.1:0", "--data", data, "--json");
  await served.said(/"ready":true/);
  await troupe("call", "counter/main", "tools/add", "{}", "--start", "--data", data);
  const sign = (file: string): ReturnType<typeof troupe> => troupe("checkpoint", "counter/main", "--key", file, "--data", data);
  for (const [file, sentence] of [
    [join(place.path, "words.pem"), /words\.pem .*no Ed25519 private key/],
    [join(place.path, "rsa.pem"), /rsa\.pem .*no Ed25519 private key/],
    [join(place.path, "none.pem"), /none\.pem .*no such file/],
    [place.path, /is not a file/],
  ] as const) {
    const ran = await sign(file);
    assert.equal(ran.code, 2, ran.stderr);
    assert.match(ran.stderr, sentence);
  }
  assert.equal((await sign(key)).code, 0);
  const [, event] = lines((await troupe("chain", "counter/main", "--data", data, "--json")).stdout);
  assert.match(JSON.stringify(event), /"signature"/);
});

test("a command's call that runs is answered before a server that was told to stop ends, and what a send began is over", async () => {
  using place = folder();
  const module = join(place.path, "slow.ts");
  writeFileSync(
    module,
    `import { actor } from "troupe";
    const wait = () => new Promise((done) => setTimeout(done, 400));
    export const slow = actor("slow", {
      description: "Slow.", initial: () => ({ n: 0 }),
      tools: {
        wait: { description: "Wait.", async work({ state }) { console.log("it waits"); await wait(); state.n += 1; return state.n; } },
        tell: { description: "Tell another.", run({ send }) { send("slow/other", "later", null); return "told"; } },
      },
      messages: { later: { async work({ state }) { console.log("the other waits"); await wait(); state.n = 7; } } },
    });`,
  );
  const data = join(place.path, "data");
  await using served = running("serve", module, "--http", "127.0.0.1:0", "--data", data, "--json", "--grace", "10000");
  await served.said(/"ready":true/);
  const told = await troupe("call", "slow/teller", "tools/tell", "{}", "--start", "--data", data, "--json");
  assert.deepEqual(lines(told.stdout), [{ ok: "told" }], told.stderr);
  const called = troupe("call", "slow/main", "tools/wait", "{}", "--start", "--data", data, "--json");
  await served.said(/it waits/);
  served.child.kill("SIGTERM");
  const { stdout, stderr } = await called;
  assert.deepEqual(lines(stdout), [{ ok: 1 }], stderr);
  assert.equal(await served.ended, 0);
  const other = await troupe("state", "slow/other", "--data", data, "--json");
  assert.match(other.stdout, /"n": ?7/, other.stderr);
});
