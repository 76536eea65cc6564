import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ActorId } from "../../../core/contract/index.ts";
import { LocalEngine } from "../../../core/engine/index.ts";
import { sqliteStore } from "../../../core/store/index.ts";
import { SimulatedEntropy } from "../../../testing/index.ts";
import { searchIndex } from "./search.ts";
import { diary, folder, found, searched } from "./notes.fixture.ts";

const KILLS = 6;
const FIXTURE = fileURLToPath(new URL("kill.fixture.ts", import.meta.url));

test(`${KILLS} times kill -9 while it follows: every event is found once, and no other`, async () => {
  using at = folder();
  const directory = at.path("data");
  const dice = new SimulatedEntropy(7);
  for (let round = 0; round < KILLS; round += 1) {
    const child = spawn(process.execPath, ["--conditions=troupe-source", FIXTURE, directory, String(round)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      // By its output, not by time: on a slow machine it might not have written anything.
      let events = 0;
      const enough = 2 + dice.under(120);
      child.stdout.on("data", (dots: Buffer) => {
        events += dots.length;
        if (events >= enough) child.kill("SIGKILL");
      });
      const [, signal] = await once(child, "close");
      assert.equal(signal, "SIGKILL", "it was killed, it did not end");
    } finally {
      child.kill("SIGKILL");
    }
  }
  await using store = sqliteStore({ directory });
  await using engine = await LocalEngine.start({ kinds: [diary], store });
  const search = searchIndex({
    engine,
    file: join(directory, "search.db"),
    kinds: [searched(diary)],
    onFault: (error) => assert.fail(String(error)),
  });
  await search.caughtUp();
  let events = 0;
  for (let n = 0; n < 7; n += 1) {
    const id: ActorId = `diary/${n}`;
    for await (const { header, body } of engine.history(id)) {
      const word = /all (r\d+n\d+)/u.exec(body ?? "")?.[1];
      const seq: unknown = JSON.parse(header).seq;
      assert.ok(word);
      assert.deepEqual(await found(search, word, "ann"), [`${id}#${String(seq)}`]);
      events += 1;
    }
  }
  assert.ok(events > KILLS, `${events} events`);
  await search[Symbol.asyncDispose]();
  using database = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(join(directory, "search.db"));
  assert.equal(database.prepare("SELECT count(*) AS n FROM doc").get()?.["n"], events);
  assert.equal(database.prepare("SELECT count(*) AS n FROM words WHERE words MATCH 'all'").get()?.["n"], events);
  database.exec("INSERT INTO words(words) VALUES('integrity-check')");
});
