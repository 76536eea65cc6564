import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempDisposableSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { EngineError } from "../core/contract/index.ts";
import { requestServer, isTrustedSocket, serveControl } from "./control-socket.ts";

test("a command trusts only the user's own socket, and for root that of the owner", () => {
  assert.equal(isTrustedSocket({ socket: 1000, directory: 1000, user: 1000 }), true);
  assert.equal(isTrustedSocket({ socket: 1000, directory: 0, user: 1000 }), true);
  assert.equal(isTrustedSocket({ socket: 1001, directory: 1000, user: 1000 }), false);
  assert.equal(isTrustedSocket({ socket: 1001, directory: 1001, user: 1000 }), false);
  assert.equal(isTrustedSocket({ socket: 1000, directory: 1000, user: 0 }), true);
  assert.equal(isTrustedSocket({ socket: 0, directory: 1000, user: 0 }), true);
  assert.equal(isTrustedSocket({ socket: 1001, directory: 1000, user: 0 }), false);
});

test("a file that is not a socket gets no request", async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-control-"));
  try {
    const path = join(folder, "control.sock");
    assert.equal(await requestServer(path, "stop", {}), undefined);
    writeFileSync(path, "");
    assert.equal(await requestServer(path, "stop", {}), undefined);
    rmSync(path);
    const close = await serveControl(path, () => Promise.resolve("stopped"));
    assert.deepEqual(await requestServer(path, "stop", {}), { ok: "stopped" });
    await close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a reply with any character arrives, and a request that is too long is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-control-"));
  try {
    const path = join(folder, "control.sock");
    const long = `line\u2028separators\u2029 and ${"x".repeat(1_000_000)}`;
    const close = await serveControl(path, () => Promise.resolve(long));
    assert.deepEqual(await requestServer(path, "read", {}), { ok: long });
    await assert.rejects(requestServer(path, "edit", { state: "x".repeat(9_000_000) }), { code: "USAGE", message: /at most 4 MiB/ });
    assert.deepEqual(await requestServer(path, "read", {}), { ok: long });
    await close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a server removes its own socket only, not that of a server in a folder of the same name", async () => {
  const place = mkdtempSync(join(tmpdir(), "troupe-control-"));
  const folder = join(place, "data");
  const path = join(folder, "control.sock");
  try {
    mkdirSync(folder);
    const closeFirst = await serveControl(path, () => Promise.resolve("first"));
    renameSync(folder, join(place, "moved"));
    mkdirSync(folder);
    const closeSecond = await serveControl(path, () => Promise.resolve("second"));
    await closeFirst();
    const answer = await requestServer(path, "who", {});
    await closeSecond();
    assert.deepEqual(answer, { ok: "second" });
    assert.deepEqual(readdirSync(folder), []);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
});

test("a command learns that the reason of a crash is in the server's log", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-control-"));
  const path = join(folder.path, "control.sock");
  const close = await serveControl(path, () => Promise.reject(new EngineError("CRASHED", "bell/main crashed at event 1.")));
  await assert.rejects(requestServer(path, "call", {}), {
    code: "CRASHED",
    message: "bell/main crashed at event 1. The server's log says why.",
  });
  await close();
});

test("a server that closes its socket without a complete reply is reported", async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-control-"));
  const path = join(folder, "control.sock");
  const ends: readonly ((socket: Socket) => void)[] = [(socket) => socket.destroy(), (socket) => socket.resume().end('{"ok":')];
  try {
    for (const end of ends) {
      const server = createServer(end).listen(path);
      await once(server, "listening");
      // More than a socket holds: writing fails, too.
      await assert.rejects(requestServer(path, "call", { args: "x".repeat(4_000_000) }), { code: "SERVER_GONE", exit: 6 });
      server.close();
      await once(server, "close");
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
