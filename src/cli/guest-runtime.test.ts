import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, mkdtempDisposableSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { LocalEngine } from "../core/engine/index.ts";
import { memoryStore, sqliteStore } from "../core/store/index.ts";
import { until } from "../testing/index.ts";
import { DataDirectory } from "./data-directory.ts";
import { GuestRuntime } from "./guest-runtime.ts";
import { runWithGuests } from "./operations.ts";

test("manifests are never read from the data directory inside their folder", async () => {
  const project = mkdtempSync(join(tmpdir(), "troupe-runtime-"));
  const data = join(project, ".troupe");
  try {
    mkdirSync(join(data, "guests", "somebody"), { recursive: true });
    const evil = 'name = "evil"\n[[handlers]]\ntype = "environment"\nconfig = { allowed_vars = ["HOME"] }\n';
    writeFileSync(join(data, "guests", "somebody", "evil.toml"), evil);
    writeFileSync(join(data, "key"), "secret");
    writeFileSync(join(project, "own.toml"), 'name = "own"\ncomponent = ".troupe/key"\n');
    await using runtime = new GuestRuntime(data, project);
    await using engine = await LocalEngine.start({ kinds: [runtime.guests.kind], store: memoryStore() });
    runtime.attachEngine(engine, undefined);
    for (const manifest of [".troupe/guests/somebody/evil.toml", 'name = "x"\ncomponent = ".troupe/key"', "own.toml"]) {
      const preparing = runtime.guests.prepare({ to: "guest/x", manifest });
      await assert.rejects(preparing, { code: "NOT_ALLOWED", message: /where the server and its guests write/ }, manifest);
    }
  } finally {
    rmSync(project, { recursive: true });
  }
});

/** A server's engine with a guest that may use a directory, and a message to it that was not delivered, as if it had been killed. */
async function undelivered() {
  const place = mkdtempDisposableSync(join(tmpdir(), "troupe-runtime-"));
  const manifests = join(place.path, "manifests");
  const data = join(place.path, "data");
  for (const folder of [manifests, join(manifests, "files"), data]) mkdirSync(folder);
  copyFileSync(join(import.meta.dirname, "../../test/wasm/guests/echo/echo.wasm"), join(manifests, "echo.wasm"));
  const handlers = ["message-server", "filesystem"].map((type) => `[[handler]]\ntype = "${type}"\n`).join("");
  writeFileSync(join(manifests, "echo.toml"), `name = "echo"\ncomponent = "echo.wasm"\n${handlers}path = "files"\n`);
  const serve = async (folder: string | undefined) => {
    const runtime = new GuestRuntime(data, folder);
    const store = sqliteStore({ directory: data });
    const engine = await LocalEngine.start({ kinds: [runtime.guests.kind], store });
    runtime.attachEngine(engine, data);
    return {
      runtime,
      store,
      engine,
      async [Symbol.asyncDispose]() {
        await engine[Symbol.asyncDispose]();
        await store[Symbol.asyncDispose]();
        await runtime[Symbol.asyncDispose]();
      },
    };
  };
  await using server = await serve(manifests);
  await server.engine.call(await server.runtime.guests.prepare({ to: "guest/echo", manifest: "echo.toml" }));
  const args = { data: Buffer.from("precious").toString("base64") };
  await server.store.enqueue({ id: "m1", to: "guest/echo", action: "send", args, at: 0, seed: "0".repeat(32) });
  return { data, manifests, serve, [Symbol.dispose]: () => place[Symbol.dispose]() };
}

test("operations that read guests leave their messages to the next server", async () => {
  using place = await undelivered();
  for (const [op, args] of [
    ["collect", {}],
    ["reexecute", { actor: "guest/echo" }],
  ] as const)
    await runWithGuests(new DataDirectory(place.data), op, args);
  await using server = await place.serve(place.manifests);
  await until("the message is handled", async () => (await server.engine.read("guest/echo"))?.messageCount === 2);
});

test("collecting where no guest has left contents makes no file for them", async () => {
  using place = mkdtempDisposableSync(join(tmpdir(), "troupe-runtime-"));
  await sqliteStore({ directory: place.path })[Symbol.asyncDispose]();
  assert.deepEqual(await runWithGuests(new DataDirectory(place.path), "collect", {}), { kept: 0, dropped: 0, bytes: 0 });
  assert.ok(!existsSync(join(place.path, "content.db")));
});

test("a message to a guest that cannot be loaded is a dead letter, and a request is refused with the reason", async () => {
  using place = await undelivered();
  await using server = await place.serve(undefined);
  await until("it is a dead letter", async () => (await server.engine.letters(10)).length === 1);
  const reply = await server.engine.call({ to: "guest/echo", action: "request", args: { data: "" } });
  assert.match(JSON.stringify(reply), /"INVALID".*Only a file below the manifests directory/u);
});
