// Guests that import WASI run through the glue that jco generates, where it is installed.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import type { ActorId } from "../../src/core/contract/index.ts";
import { memoryContents } from "../../src/core/store/index.ts";
import { SimulatedClock, until } from "../../src/testing/index.ts";
import { component } from "../../src/bridges/wasm/component/component.fixture.ts";
import { type ComponentReaderOptions, createComponentReader } from "../../src/bridges/wasm/jco/component-reader.ts";
import { LIMITS, type Sandboxed, sandboxed } from "../../src/bridges/wasm/guest/sandboxed.fixture.ts";
import { textOf } from "../../src/bridges/wasm/guest/stage.fixture.ts";
import { installPinned } from "../install-pinned.ts";

const toolchain = resolve(import.meta.dirname, "../../examples/wasm");
const WASI = readFileSync(join(import.meta.dirname, "guests/wasi/wasi.wasm"));

/** Jco is seen from there. */
const from = join(toolchain, "package.json");
const JCO = "node_modules/@bytecodealliance/jco-transpile";
const scratch = mkdtempSync(join(tmpdir(), "troupe-jco-"));

before(() => installPinned(toolchain));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** Another jco, of that code; its version is the real one's. */
function otherJco(name: string, code: string): string {
  const place = join(scratch, name);
  const real: { readonly version: string } = JSON.parse(readFileSync(join(toolchain, JCO, "package.json"), "utf8"));
  mkdirSync(join(place, JCO), { recursive: true });
  writeFileSync(join(place, JCO, "package.json"), JSON.stringify({ type: "module", version: real.version, exports: "./index.js" }));
  writeFileSync(join(place, JCO, "index.js"), code);
  return join(place, "package.json");
}

const read = async (bytes: Uint8Array, options: ComponentReaderOptions) => createComponentReader(options)(bytes);

const ask = async (on: Sandboxed, id: ActorId, ...commands: string[]): Promise<readonly string[]> =>
  textOf(await on.request(id, commands.join("\n&&\n"))).split("\n&&\n");

/** What its chain tells. */
async function told(on: Sandboxed, id: ActorId): Promise<string> {
  let all = "";
  for await (const { body = "" } of on.engine.history(id)) all += body;
  return all;
}

/** A guest that does much has the time for it, on a slow machine too. */
const wasi = (callMs = 60_000): Promise<Sandboxed> =>
  sandboxed({ readComponent: createComponentReader({ from }), limits: { ...LIMITS, callMs } });

test("a guest that imports WASI runs, and its chain runs again to the same states and replies", async () => {
  await using on = await wasi();
  const id = await on.start("wasi");
  const [bytes = "", wall = "", same, waited, later = "", printed, logged, variables, slept] = await ask(
    on,
    id,
    "bytes 4",
    "wall",
    "wall",
    "wait 3600000",
    "wall",
    "print of WASI",
    "log of Theater",
    "environment",
    "sleep 1",
  );
  assert.match(bytes, /^[0-9a-f]{8}$/u);
  assert.equal(same, wall, "time stands still in a call");
  assert.equal(waited, "3600000");
  assert.equal(Math.trunc(Number(later)) - Math.trunc(Number(wall)), 3_600, "but where the guest waits for it, which takes none");
  assert.deepEqual([printed, logged, variables, slept], ["printed", "logged", "0 variables", "ok"]);
  await on.send(id, "u64\n&&\nbytes 16\n&&\nwall");
  const chain = await told(on, id);
  for (const line of ["begins", "of WASI", "of Theater"]) assert.ok(chain.includes(`"args":["${line}"]`), line);
  assert.deepEqual(await on.guests.reexecute(id), { run: 3, mismatches: [], taken: { erased: 0, collected: 0, lost: 0, other: 0 } });
});

test("what WASI would show of the outside is not there, and who asks for it is told so", async () => {
  await using on = await wasi();
  for (const [command, why] of [
    ["network", /wasi:sockets\/instance-network\.instance-network/u],
    ["exit", /The guest exited/u],
    ["bytes 9999999", /9999999 random bytes/u],
  ] as const) {
    const id = await on.start("wasi");
    assert.match(JSON.stringify(await on.request(id, command)), why);
  }
});

test("a guest that computes too long is killed as any other", async () => {
  await using on = await wasi(2_000);
  assert.match(JSON.stringify(await on.request(await on.start("wasi"), "spin")), /computed for more than 2000 ms/u);
});

test("a guest that calls WASI too often is killed as any other", async () => {
  await using on = await wasi();
  assert.match(JSON.stringify(await on.request(await on.start("wasi"), "many 10001")), /more than 10000 host calls/u);
});

test("an instance whose glue has gathered much is made anew for the next call", async () => {
  await using on = await wasi();
  const id = await on.start("wasi");
  await ask(on, id, "many 600");
  assert.equal(on.sandbox.measures.instances, 1);
  await ask(on, id, "many 600");
  assert.equal(on.sandbox.measures.instances, 0);
  assert.deepEqual(await ask(on, id, "environment"), ["0 variables"]);
});

test("without jco such a component is refused, with what to install", async () => {
  await assert.rejects(read(WASI, { from: join(scratch, "package.json") }), {
    code: "NEEDS_JCO",
    message: /install @bytecodealliance\/jco/u,
  });
});

test("glue is generated once, and kept over restarts until jco or the component is another", async () => {
  await using contents = memoryContents();
  const glued = await read(WASI, { from, contents });
  await contents.put(WASI);
  const broken = otherJco("broken", "throw new Error('asked again')");
  assert.deepEqual(await read(WASI, { from: broken, contents }), glued);
  await assert.rejects(read(WASI, { from: broken }), { code: "BAD_COMPONENT", message: /asked again/u });
});

test("glue of components that are gone is kept no longer", async () => {
  await using contents = memoryContents();
  await contents.label("jco", "0".repeat(64), await contents.put(new Uint8Array(3)));
  const { digest } = await read(WASI, { from, contents });
  assert.deepEqual(await contents.labels("jco", 10), [digest]);
});

test("a jco that never ends is ended, and nothing waits for it but who asked", async () => {
  const clock = new SimulatedClock();
  const endless = read(WASI, { from: otherJco("endless", "for (const end = Date.now() + 60_000; Date.now() < end; );"), clock });
  const refused = assert.rejects(endless, { code: "BAD_COMPONENT", message: /more than 120 seconds/u });
  await until("its time is counted", () => clock.pending > 0);
  await clock.advance(120_000);
  await refused;
});

test("of what jco makes only the script is taken: a core module of its own is refused", async () => {
  const own = otherJco(
    "own",
    `export const transpileBytes = () => ({ files: { "g.js": new TextEncoder().encode("export function instantiate() {}"), "g.wasm": new Uint8Array(8) } });`,
  );
  await assert.rejects(read(WASI, { from: own }), { code: "BAD_COMPONENT", message: /rewrote the core module g\.wasm/u });
});

test("a name that would be code in the glue is refused before there is any", async () => {
  const evil = Buffer.from(WASI.toString("latin1").replaceAll("cabi_realloc", "x'+[alert]+'"), "latin1");
  await assert.rejects(read(evil, { from }), { code: "BAD_COMPONENT", message: /names that jco makes code of/u });
});

test("what neither Theater nor WASI has is refused, jco or not", async () => {
  const strange = component({ imports: { "my:own/thing": { act: { params: {} } } } });
  await assert.rejects(read(strange, { from }), { code: "WRONG_WORLD", message: /my:own\/thing/u });
});
