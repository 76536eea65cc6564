import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { importLine, verify } from "troupe/chain";
import { root } from "../serve-child.ts";
import { lines, troupe } from "./run.ts";

const MODULE = "examples/counter-disk";

const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

describe("the chain from the command line", () => {
  const data = mkdtempSync(join(tmpdir(), "troupe-chain-"));
  const on = (...args: readonly string[]): ReturnType<typeof troupe> => troupe(...args, "--data", data);

  before(async () => {
    for (const by of [1, 2, 3, 4]) await on("call", "counter/main", "tools/add", JSON.stringify({ by }), "--start", "--module", MODULE);
  });
  after(() => rmSync(data, { recursive: true, force: true }));

  test("chain prints every event, and exports lines that sha256sum verifies #chain.export #cli.chain #cli.output", async () => {
    assert.equal(lines((await on("chain", "counter/main", "--json")).stdout).length, 4);
    const exported = (await on("chain", "counter/main", "--export")).stdout.trim().split("\n");
    assert.equal(verify(exported.map(importLine)).flaw, undefined);
    const [first] = exported;
    const header = String(first).slice(String(first).indexOf('"header":') + 9, String(first).indexOf('"}') + 2);
    const id = String(first).slice(7, 71);
    assert.equal(execFileSync("sha256sum", { input: header }).toString().slice(0, 64), id);
  });

  test("chain prints the principal of each event, and the actor that sent it where there is none", async () => {
    const printed = (await on("chain", "counter/main")).stdout.trim().split("\n");
    assert.equal(printed.length, 4);
    for (const line of printed) assert.match(line, /  tools\/add  by "local"  \{"by":\d\} → /);
  });

  test("a reader that stops reading, as head does, is no failure", () => {
    // Nobody is left to read when the first line is written.
    for (const command of ["chain counter/main", "actors", "--help", "chain --help"]) {
      const told = spawnSync("sh", ["-c", `"$0" bin/troupe.js ${command} --data "$1" | true`, process.execPath, data], { cwd: root });
      assert.equal(told.stderr.toString(), "", command);
    }
  });

  test("a result that cannot be written is a failure in a sentence, and with --json in JSON", () => {
    const unwritable = (command: string): { readonly status: number | null; readonly stderr: string } => {
      const script = `"$0" bin/troupe.js ${command} --data "$1" 1< package.json`;
      return spawnSync("sh", ["-c", script, process.execPath, data], { cwd: root, encoding: "utf8" });
    };
    for (const command of ["actors", "chain counter/main", "state counter/main", "--help"]) {
      const told = unwritable(command);
      assert.equal(told.status, 1, command);
      assert.match(told.stderr, /^troupe: The result cannot be written to standard output: .*\.\n$/, command);
    }
    const { error } = Object(JSON.parse(unwritable("actors --json").stderr));
    assert.equal(error.code, "FAILED");
  });

  test("replay tells the state at any event, and runs pure turns again #chain.state-at #cli.replay", async () => {
    assert.deepEqual(JSON.parse((await on("replay", "counter/main", "--to", "2")).stdout), { count: 3 });
    assert.equal((await on("replay", "counter/main", "--to", "9")).code, 4);
    const again = await on("replay", "counter/main", "--module", MODULE);
    assert.match(again.stdout, /^4 turns were run again and all gave what is recorded\./, again.stderr);
  });

  test("replay says why events of an older version were not run again", async () => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-chain-version-"));
    writeFileSync(
      join(folder, "index.ts"),
      `import { actor } from "troupe";
      export const counter = actor("counter", { description: "c", per: "shared", version: 2, initial: () => ({ count: 0 }), migrate: ({ state }: any) => state,
        tools: { add: { description: "a", input: { type: "object", properties: { by: { type: "number" } } }, run({ state, args }: any) { state.count += args.by; return state.count; } } } });`,
    );
    const again = await on("replay", "counter/main", "--module", folder);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stdout, /^No turn was run again\. 4 events were not run again: 4 were written by another version of the kind\.\n/);
    assert.match(
      again.stdout,
      /The module has version 2 of counter.*To check events of version 1, name a module of that version with --module\./,
    );
    rmSync(folder, { recursive: true });
  });

  test("a missing actor is reported with the absolute directory that was looked in", async () => {
    for (const command of [["state"], ["chain"], ["replay"], ["verify"], ["replay", "--module", MODULE], ["restart", "--module", MODULE]]) {
      const [name = "", ...rest] = command;
      const told = await on(name, "counter/none", ...rest);
      assert.equal(told.code, 4, told.stderr);
      assert.ok(told.stderr.includes(`There is no actor counter/none in ${data}; "troupe actors" lists them.`), told.stderr);
    }
  });

  test("replay names the turn that another code would have run otherwise #chain.reexecute", async () => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-chain-code-"));
    writeFileSync(
      join(folder, "index.ts"),
      `import { actor } from "troupe";
      export const counter = actor("counter", { description: "c", per: "shared", initial: () => ({ count: 0 }),
        tools: { add: { description: "a", input: { type: "object", properties: { by: { type: "number" } } }, run({ state, args }: any) { state.count += args.by === 3 ? 30 : args.by; return state.count; } } } });`,
    );
    const again = await on("replay", "counter/main", "--module", folder, "--json");
    assert.equal(again.code, 5);
    const [told] = lines(again.stdout);
    assert.ok(isJsonObject(told) && Array.isArray(told["mismatches"]));
    assert.ok(
      told["mismatches"].some((mismatch) => isJsonObject(mismatch) && mismatch["seq"] === 3),
      again.stdout,
    );
    rmSync(folder, { recursive: true });
  });

  test("diff says where two states differ #chain.diff #cli.diff", async () => {
    const [told] = lines((await on("diff", "counter/main", "1", "4", "--json")).stdout);
    assert.ok(isJsonObject(told));
    assert.deepEqual(told["differences"], [{ path: "/count", before: 1, after: 10 }]);
  });

  test("fork begins a muted copy at any event, and its cause is found #chain.fork #chain.causes #cli.fork", async () => {
    assert.equal((await on("fork", "counter/main", "counter/copy", "--at", "2", "--module", MODULE)).code, 0);
    assert.deepEqual(JSON.parse((await on("state", "counter/copy")).stdout), { count: 3 });
    assert.equal((await on("fork", "counter/main", "counter/copy", "--module", MODULE)).code, 2);
    const [event] = lines((await on("chain", "counter/copy", "--json")).stdout);
    assert.ok(isJsonObject(event));
    const causes = await on("causes", String(event["id"]));
    assert.match(causes.stdout, /counter\/main #2 tools\/add[\s\S]*counter\/copy #1 fork/);
    for (const named of ["counter/copy", "counter/copy#1", "counter/main#2"])
      assert.equal((await on("causes", named)).stdout, causes.stdout, named);
    assert.match((await on("causes", "counter/copy#9")).stderr, /has 1 event, and none with the number 9/);
    assert.match((await on("causes", "counter/none")).stderr, /counter\/none/);
    assert.equal((await on("causes", "counter/copy#x")).code, 2);
  });

  test("revert appends an event that restores an earlier state, with its reason #cli.revert", async () => {
    const id = "counter/reverted";
    for (const by of [1, 2, 3, 4]) await on("call", id, "tools/add", JSON.stringify({ by }), "--start", "--module", MODULE);
    const revert = (...args: readonly string[]) => on("revert", id, ...args);
    assert.match((await revert("--to", "2")).stderr, /--reason/);
    assert.match((await revert("--to", "4", "--reason", "Wrong.")).stderr, /has 4 events: name one before the last/);
    const [done] = lines((await revert("--to", "2", "--reason", "The third was entered twice.", "--json")).stdout);
    assert.ok(isJsonObject(done) && isJsonObject(done["reverted"]));
    assert.deepEqual([done["reverted"]["seq"], done["reverted"]["to"], done["reverted"]["sent"]], [5, 2, 0]);
    assert.deepEqual(JSON.parse((await on("state", id)).stdout), { count: 3 });
    assert.match((await on("chain", id, "--export")).stdout, /The third was entered twice\./);
    assert.equal((await on("verify", id)).code, 0);
    const replayed = lines((await on("replay", id, "--module", MODULE, "--json")).stdout);
    assert.deepEqual(Object(replayed[0]).mismatches, []);
    await on("revert", id, "--to", "4", "--reason", "It was right after all.");
    assert.deepEqual(JSON.parse((await on("state", id)).stdout), { count: 10 });
  });

  test("checkpoint writes a signed whole state before which bodies are erased, and the chain still verifies #chain.erase", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const files = mkdtempSync(join(tmpdir(), "troupe-chain-keys-"));
    writeFileSync(join(files, "private.pem"), privateKey.export({ type: "pkcs8", format: "pem" }));
    writeFileSync(join(files, "public.pem"), publicKey.export({ type: "spki", format: "pem" }));
    const written = await on("checkpoint", "counter/main", "--key", join(files, "private.pem"), "--erase", "--module", MODULE, "--json");
    assert.equal(written.code, 0, written.stderr);
    const verified = await on("verify", "counter/main", "--public-key", join(files, "public.pem"), "--json");
    const [verdict] = lines(verified.stdout);
    assert.ok(isJsonObject(verdict));
    assert.deepEqual([verdict["flaw"], verdict["erased"], verdict["signedSeq"]], [null, 4, 5]);
    const other = generateKeyPairSync("ed25519").publicKey;
    writeFileSync(join(files, "other.pem"), other.export({ type: "spki", format: "pem" }));
    assert.equal((await on("verify", "counter/main", "--public-key", join(files, "other.pem"))).code, 5);
    assert.deepEqual(JSON.parse((await on("state", "counter/main")).stdout), { count: 10 });
    // What was erased on purpose is gone, not corrupt.
    for (const args of [
      ["replay", "counter/main", "--to", "2"],
      ["diff", "counter/main", "2", "5"],
      ["fork", "counter/main", "counter/erased", "--at", "2", "--module", MODULE],
    ] as const) {
      const gone = await on(...args, "--json");
      assert.equal(gone.code, 4, gone.stderr);
      assert.match(gone.stderr, /"NOT_FOUND".*The body of event 2 of counter\/main was erased/);
    }
    rmSync(files, { recursive: true });
  });

  test("verify finds a file that was rolled back, given a receipt, and a changed byte without one #chain.verify.receipt #cli.verify", async () => {
    const [verdict] = lines((await on("verify", "counter/main", "--json")).stdout);
    assert.ok(isJsonObject(verdict));
    const receipt = { actor: "counter/main", seq: verdict["seq"], head: verdict["head"] };
    assert.equal((await on("verify", "counter/main", "--receipt", JSON.stringify(receipt))).code, 0);
    const later = await on("verify", "counter/main", "--receipt", JSON.stringify({ ...receipt, seq: Number(receipt.seq) + 1 }));
    assert.equal(later.code, 5);
    assert.match(later.stdout, /ROLLED_BACK/);
    const database = new DatabaseSync(join(data, "troupe.db"));
    const tables = database
      .prepare("SELECT name FROM pragma_table_info('event')")
      .all()
      .map((row) => String(row["name"]));
    const body = tables.find((name) => name === "body");
    assert.ok(body, tables.join(" "));
    database.exec(
      "UPDATE event SET body = replace(body, '\"by\":', '\"bY\":') WHERE pos = (SELECT max(pos) FROM event WHERE body LIKE '%\"by\":%')",
    );
    database.exec("UPDATE event SET body = replace(body, '\"count\":10', '\"count\":11') WHERE body LIKE '%checkpoint%'");
    database.close();
    const broken = await on("verify");
    assert.equal(broken.code, 5, broken.stdout);
    assert.match(broken.stdout, /broken counter\/main/);
  });
});
