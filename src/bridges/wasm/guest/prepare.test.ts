import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ActorId } from "../../../core/contract/index.ts";
import { memoryContents } from "../../../core/store/index.ts";
import type { GuestState } from "../guest-state.ts";
import { createGuests } from "../guests.ts";
import { MANIFEST_SPACE, ManifestFinder } from "../manifest/manifest-finder.ts";
import { componentOf, granting, type Sandboxed, sandboxed } from "./sandboxed.fixture.ts";
import { textOf } from "./stage.fixture.ts";

// Grants of a file in the manifests directory that expose the machine are for the operator's components.

const DIRECTORY = granting("files").replace('type = "filesystem"\n', 'type = "filesystem"\npath = "shown"\n');
const VARIABLES = granting("variables").replace('type = "environment"\n', 'type = "environment"\nallowed_vars = ["SECRET"]\n');
const REFUSED = { name: "ManifestError", code: "NOT_ALLOWED" };

function place() {
  const directory = mkdtempSync(join(tmpdir(), "troupe-granted-"));
  mkdirSync(join(directory, "shown"));
  writeFileSync(join(directory, "shown", "secret.txt"), "the machine's");
  const files = { "counter.wasm": componentOf("examples/wasm/counter"), "outsider.wasm": componentOf("outsider") };
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(directory, name), bytes);
  for (const [name, text] of Object.entries({ files: DIRECTORY, variables: VARIABLES, plain: granting("plain") }))
    writeFileSync(join(directory, `${name}.toml`), `component = "counter.wasm"\n${text}`);
  return { directory, [Symbol.dispose]: () => rmSync(directory, { recursive: true }) };
}

const asked = async (on: Sandboxed, id: ActorId, command: string): Promise<string> => textOf(await on.request(id, command));

test("a starter may pass a component with inline manifest text only", async () => {
  using at = place();
  await using contents = memoryContents();
  await using on = await sandboxed({ contents, manifests: new ManifestFinder({ contents, directory: at.directory }) });
  await contents.label(MANIFEST_SPACE, "labelled", await contents.put(Buffer.from(granting("labelled"))));
  const own = { to: "guest/own", component: componentOf("outsider") } as const;
  for (const manifest of ["files.toml", "variables.toml", "plain.toml", "store:labelled"])
    await assert.rejects(on.guests.prepare({ ...own, manifest }), { ...REFUSED, message: /give a manifest as text/ }, manifest);
  assert.equal((await on.guests.prepare({ ...own, manifest: granting("own") })).to, own.to);
});

test("a file that a guest writes is not accepted as a manifest, even inside the manifests directory", async () => {
  using at = place();
  await using contents = memoryContents();
  await using guests = createGuests({ contents, manifests: at.directory, directory: join(at.directory, "guests") });
  mkdirSync(join(at.directory, "guests", "one"), { recursive: true });
  writeFileSync(join(at.directory, "guests", "one", "evil.toml"), `component = "../../outsider.wasm"\n${VARIABLES}`);
  await assert.rejects(guests.prepare({ to: "guest/x", manifest: "guests/one/evil.toml" }), REFUSED);
  assert.equal((await guests.prepare({ to: "guest/x", manifest: "variables.toml" })).to, "guest/x");
});

test("a guest with a directory or variables can be updated only to a component of the operator", async () => {
  using at = place();
  await using contents = memoryContents();
  const manifests = new ManifestFinder({ contents, directory: at.directory });
  await using on = await sandboxed({ contents, manifests, variables: { SECRET: "x" } });
  const update = async (id: ActorId, component: string): Promise<void> => {
    const state: unknown = (await on.engine.read(id))?.state;
    assertGuest(state);
    await on.engine.call({ to: id, action: "update", args: { component: await on.guests.component(component, state) } });
  };
  // Anyone who starts a guest can store any bytes as initial state.
  const brought = `store:${await contents.put(componentOf("outsider"))}`;
  await contents.label("somebody", "outsider", brought.slice("store:".length));
  for (const name of ["files", "variables", "plain"])
    await on.engine.call(await on.guests.prepare({ to: `guest/${name}`, manifest: `${name}.toml` }));
  for (const id of ["guest/files", "guest/variables"] as const)
    for (const reference of [brought, "store://somebody/outsider", `store://${MANIFEST_SPACE}/hash/${brought.slice("store:".length)}`])
      await assert.rejects(update(id, reference), { ...REFUSED, message: /only what the operator put there/ }, `${id} ${reference}`);
  await update("guest/files", "outsider.wasm");
  assert.equal(await asked(on, "guest/files", "filesystem.read-file secret.txt"), "ok the machine's");
  await contents.label(MANIFEST_SPACE, "outsider", brought.slice("store:".length));
  await update("guest/variables", "store:outsider");
  assert.equal(await asked(on, "guest/variables", "environment.get-var SECRET"), "ok x");
  await update("guest/plain", brought);
  assert.equal(await asked(on, "guest/plain", "environment.get-var SECRET"), "ok none");
});

test("initial states are not merged where that would round an integer", async () => {
  using at = place();
  await using contents = memoryContents();
  await using on = await sandboxed({ contents, manifests: new ManifestFinder({ contents, directory: at.directory }) });
  writeFileSync(join(at.directory, "state.json"), '{"id":9007199254740993}');
  writeFileSync(join(at.directory, "plain.toml"), `component = "outsider.wasm"\ninitial_state = "state.json"\n${granting("plain")}`);
  const start = (initialState: string) =>
    on.guests.prepare({ to: "guest/plain", manifest: "plain.toml", initialState: Buffer.from(initialState) });
  await assert.rejects(start('{"n":1}'), { code: "BAD_MANIFEST", message: /merged: 9007199254740993 is an integer that no double holds/ });
  assert.equal((await start("9007199254740993")).action, "start");
});

test("a component for an update is looked up in the manifests directory, then next to the manifest", async () => {
  using at = place();
  await using contents = memoryContents();
  await using on = await sandboxed({ contents, manifests: new ManifestFinder({ contents, directory: at.directory }) });
  mkdirSync(join(at.directory, "sub"));
  writeFileSync(join(at.directory, "sub", "plain.toml"), `component = "../counter.wasm"\n${granting("plain")}`);
  writeFileSync(join(at.directory, "sub", "beside.wasm"), componentOf("outsider"));
  await on.engine.call(await on.guests.prepare({ to: "guest/sub", manifest: "sub/plain.toml" }));
  const state: unknown = (await on.engine.read("guest/sub"))?.state;
  assertGuest(state);
  const [outsider, counter] = await Promise.all(["outsider", "examples/wasm/counter"].map((name) => contents.put(componentOf(name))));
  for (const path of ["outsider.wasm", "sub/beside.wasm", "beside.wasm", "../outsider.wasm"])
    assert.equal(await on.guests.component(path, state), outsider, path);
  assert.equal(await on.guests.component("counter.wasm", state), counter);
  await assert.rejects(on.guests.component("none.wasm", state), {
    code: "NOT_FOUND",
    message: /none\.wasm" is no file below the manifests/,
  });
});

function assertGuest(state: unknown): asserts state is GuestState {
  assert.ok(typeof state === "object" && state !== null && "manifest" in state);
}
