/** Flipped bits in the store's files cause an error, a located flaw, or no damage, and never wrong data. */
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { loadWorld, mud, worlds } from "../../examples/mud/index.ts";
import type { World } from "../../examples/mud/world/world.ts";
import { type Flaw, stateAt } from "../../src/core/chain/index.ts";
import { verdictOn } from "../../src/bridges/operate/chain-checks.ts";
import {
  type ActorId,
  type ChainEvent,
  type Json,
  type Receipt,
  StoreError,
  TroupeError,
  type Viewer,
} from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { cast } from "../../src/mcp/source/index.ts";
import { checkFile, sqliteStore } from "../../src/core/store/index.ts";
import { SimulatedEntropy } from "../../src/testing/index.ts";
import { troupe } from "../cli/run.ts";
import { actorsOf, chainOf } from "./ledger.ts";
import { callTool, lightClient } from "./light-client.ts";
import { RestartableServer } from "./restartable-server.ts";
import { randomAct } from "./random-player.ts";
import { seeded, type Seeded, withSeed } from "./seed.ts";

const FLIPS = 150;
const SERVED = 5;
const FILES = ["troupe.db", "troupe.db-wal"];
const PLAYERS: readonly Viewer[] = ["ann", "bob", "cyd"].map((principal) => ({ principal, scopes: [] }));

const folder = () => {
  const path = mkdtempSync(join(tmpdir(), "troupe-flip-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

/** The content of the files before they are damaged. */
interface Truth {
  readonly chains: ReadonlyMap<ActorId, readonly ChainEvent[]>;
  /** Receipts of the last event of each actor. */
  readonly receipts: readonly Receipt[];
}

async function playSome(directory: string, world: World, random: Seeded, acts: number, atEnd: () => void): Promise<void> {
  await using store = sqliteStore({ directory });
  const kinds = mud(world);
  await using engine = await LocalEngine.start({ kinds, store, entropy: new SimulatedEntropy(random.seed + acts) });
  const source = cast({ engine, kinds });
  const names = PLAYERS.map(({ principal }) => principal ?? "");
  for (let act = 0; act < acts; act += 1) {
    const who = PLAYERS[act % PLAYERS.length];
    if (who === undefined) continue;
    const { choices } = await source.surface(who);
    const { tool, args } = randomAct(random, world, names, (name) => choices?.[`tools/${name}`]?.["item"] ?? []);
    await source.act(who, `tools/${tool}`, args, { key: `act ${act} of ${acts}` });
  }
  while ((await store.undelivered(1)).length > 0) await new Promise((resolve) => void setImmediate(resolve));
  atEnd();
}

/** A database and a log, both with many entries. */
async function written(root: string, world: World, random: Seeded): Promise<Truth> {
  const live = join(root, "live");
  const image = join(root, "whole");
  mkdirSync(image);
  await playSome(live, world, random, 150, () => undefined);
  await playSome(live, world, random, 60, () => FILES.forEach((name) => copyFileSync(join(live, name), join(image, name))));
  rmSync(live, { recursive: true });
  // Opened twice, on a copy: the last reader checkpoints the log into the file.
  const copy = join(root, "look");
  mkdirSync(copy);
  for (const name of FILES) copyFileSync(join(image, name), join(copy, name));
  await using store = sqliteStore({ directory: copy });
  const chains = new Map<ActorId, readonly ChainEvent[]>();
  for (const id of await actorsOf(store)) chains.set(id, await chainOf(store, id));
  const receipts = [...chains].map(([actor, chain]) => ({ actor, seq: chain.length, head: chain.at(-1)?.id ?? "" }));
  return { chains, receipts };
}

interface Flipped {
  readonly directory: string;
  readonly what: string;
}

function flip(root: string, random: Seeded, round: number): Flipped {
  const directory = join(root, `flipped-${round}`);
  mkdirSync(directory);
  for (const name of FILES) copyFileSync(join(root, "whole", name), join(directory, name));
  const name = random.under(3) === 0 ? "troupe.db-wal" : "troupe.db";
  const bytes = readFileSync(join(directory, name));
  const places = Array.from({ length: 1 + random.under(3) }, () => random.under(bytes.length));
  for (const place of places) bytes[place] = (bytes[place] ?? 0) ^ (1 << random.under(8));
  writeFileSync(join(directory, name), bytes);
  return { directory, what: `${name} ${places.join(", ")}` };
}

const codeOf = (error: unknown): string => {
  assert.ok(error instanceof TroupeError, `no fault of ours: ${String(error)}`);
  return error.code;
};

/** The flaws that `troupe verify` finds with the last receipt of each actor: in the file, and in each chain. */
async function verified(
  directory: string,
  { receipts }: Truth,
): Promise<{ readonly file: number; readonly flaws: ReadonlyMap<string, Flaw> }> {
  const flaws = new Map<string, Flaw>();
  const file = checkFile({ directory }).length;
  await using store = sqliteStore({ directory, readOnly: true });
  for (const receipt of receipts) {
    const [kind = "", key = ""] = receipt.actor.split("/");
    const { flaw } = await verdictOn(store, `${kind}/${key}`, { receipts: [receipt] });
    if (flaw !== undefined) flaws.set(receipt.actor, flaw);
  }
  return { file, flaws };
}

/** Compares everything that a server would return with what was written. Returns the outcome. */
async function look({ directory, what }: Flipped, truth: Truth, world: World): Promise<"refused" | "found" | "whole"> {
  const found = await verified(directory, truth).catch((error: unknown) => codeOf(error));
  const kinds = mud(world);
  let harmed = false;
  try {
    await using store = sqliteStore({ directory });
    await using engine = await LocalEngine.start({ kinds, store });
    for (const [id, chain] of truth.chains) {
      const known = typeof found === "string" || found.file > 0 || found.flaws.has(id);
      try {
        const now = await engine.read(id);
        if (now?.status === "failed") {
          harmed = true;
          assert.ok(known, `${what}: ${id} has failed, and verify finds nothing`);
          continue;
        }
        // The log's checksums cut it before a damaged part: an older, consistent state, which the receipt reveals.
        const expected: Json | undefined = now === undefined ? undefined : stateAt(chain.slice(0, now.seq), now.seq).state;
        assert.deepEqual(now?.state, expected, `${what}: ${id} is another than it ever was`);
        assert.equal(now?.head, now === undefined ? undefined : chain[now.seq - 1]?.id, `${what}: ${id}`);
        if (now?.seq === chain.length) continue;
        harmed = true;
        assert.ok(
          known,
          `${what}: ${id} is ${now === undefined ? "missing" : `back at ${now.seq} of ${chain.length}`}, and nothing finds it`,
        );
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        assert.equal(codeOf(error), "STORE_CORRUPT", `${what}: ${String(error)}`);
        harmed = true;
        assert.ok(known, `${what}: ${id} cannot be read, and verify finds nothing`);
      }
    }
    const source = cast({ engine, kinds });
    for (const who of PLAYERS) {
      // A turn on it succeeds or is refused; it never overwrites damage silently.
      await Promise.resolve(source.act(who, "tools/say", { text: "still here" }, {})).catch(codeOf);
      await Promise.resolve(source.act(who, "resources/player_state", {}, {})).catch(codeOf);
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    assert.ok(error.code === "STORE_CORRUPT" || error.code === "STORE_NEWER", `${what}: ${error.code}`);
    return "refused";
  }
  if (typeof found === "string") return "refused";
  return harmed || found.file > 0 || found.flaws.size > 0 ? "found" : "whole";
}

test(`C7 ${FLIPS} files with flipped bits: each is refused, has its flaw located, or is undamaged`, async (t) => {
  const random = seeded(99);
  await withSeed(random.seed, async () => {
    using place = folder();
    const root = place.path;
    const [file = ""] = worlds;
    const world = loadWorld(file);
    const truth = await written(root, world, random);
    const untouched = { directory: join(root, "untouched"), what: "nothing" };
    mkdirSync(untouched.directory);
    for (const name of FILES) copyFileSync(join(root, "whole", name), join(untouched.directory, name));
    assert.equal(await look(untouched, truth, world), "whole");
    const counts = { refused: 0, found: 0, whole: 0 };
    for (let round = 0; round < FLIPS; round += 1) {
      const flipped = flip(root, random, round);
      counts[await look(flipped, truth, world)] += 1;
      rmSync(flipped.directory, { recursive: true });
    }
    t.diagnostic(`seed ${random.seed}: ${JSON.stringify(counts)}, ${truth.chains.size} actors`);
    assert.ok(counts.found + counts.refused > FLIPS / 10, JSON.stringify(counts));
  });
});

test(`a server on a file with flipped bits does not start, with a code, or serves what was written`, async () => {
  const random = seeded(3);
  await withSeed(random.seed, async () => {
    using place = folder();
    const root = place.path;
    const [file = ""] = worlds;
    const world = loadWorld(file);
    const truth = await written(root, world, random);
    for (let round = 0; round < SERVED; round += 1) {
      const { directory, what } = flip(root, random, round);
      if (round === 0) {
        writeFileSync(join(directory, "troupe.db"), Buffer.alloc(8_192, 0x21));
        rmSync(join(directory, "troupe.db-wal"));
      }
      const verify = await troupe(
        "verify",
        "--data",
        directory,
        "--json",
        ...truth.receipts.flatMap((receipt) => ["--receipt", JSON.stringify(receipt)]),
      );
      assert.ok(verify.code === 0 || verify.code === 5, `${what}: ${verify.stderr}`);
      await using server = new RestartableServer(["examples/mud", "--receipts", "--rate", "0"], { data: directory });
      const url = await server.start();
      if (url === undefined) {
        assert.equal(await server.ended, 5, what);
        const { error } = JSON.parse(server.log.at(-1) ?? "");
        assert.equal(error.code, "STORE_CORRUPT");
        assert.match(error.message, /damaged|not a database/u);
        assert.equal(verify.code, 5, what);
        continue;
      }
      assert.notEqual(round, 0);
      const reply = await callTool(lightClient("legacy", undefined), url, "say", { text: "hello" }, { id: "hello", trace: "" });
      if ("fault" in reply) assert.match(JSON.stringify(reply.fault.data), /STORE_CORRUPT|ACTOR_FAILED/u, what);
      assert.ok(existsSync(directory));
    }
  });
});
