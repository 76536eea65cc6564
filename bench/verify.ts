// Verifies chains, compared with reading and hashing the same rows.
import { hash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { Verifier } from "troupe/chain";
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import type { BenchOptions } from "./options.ts";
import { plain } from "./kinds/plain.ts";
import { temporaryFolder } from "./cleanup.ts";
import { times } from "./statistics.ts";
import { print, rounds } from "./table.ts";

const ACTORS = 100;
const PAGE = 1_000;

const bare = (path: string): number => {
  const database = new DatabaseSync(path, { readOnly: true });
  let events = 0;
  for (const { id, header, body } of database.prepare("SELECT id, header, body FROM event").iterate()) {
    if (hash("sha256", String(header), "hex") !== id) throw new Error("A header was changed.");
    hash("sha256", String(body), "hex");
    events += 1;
  }
  database.close();
  return events;
};

const ours = async (directory: string): Promise<number> => {
  await using store = sqliteStore({ directory, readOnly: true });
  let events = 0;
  for (const { id } of await store.list({ limit: ACTORS })) {
    const verifier = new Verifier({ actor: id });
    for (let after = 0; ; after += PAGE) {
      const page = await store.events(id, after, PAGE);
      for (const event of page) verifier.add(event);
      if (page.length < PAGE) break;
    }
    const verdict = verifier.end();
    if (verdict.flaw !== undefined) throw new Error(verdict.flaw.message);
    events += verdict.events;
  }
  return events;
};

const rate = async (events: number, run: () => number | Promise<number>): Promise<number> => {
  const started = performance.now();
  if ((await run()) !== events) throw new Error("Some events were not read.");
  return (events * 1_000) / (performance.now() - started);
};

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  using data = temporaryFolder();
  const folder = data.path;
  const turns = quick ? 300 : 1_000;
  {
    await using store = sqliteStore({ directory: folder });
    await using engine = await LocalEngine.start({ kinds: [plain("disk")], store });
    for (let turn = 0; turn < turns; turn += 1)
      await Promise.all(
        Array.from({ length: ACTORS }, (_, n) => engine.call({ to: `plain-disk/${n}`, action: "add", args: {}, start: null })),
      );
  }
  const [verified = [], read = []] = await rounds(
    quick ? 3 : 7,
    () => rate(ACTORS * turns, () => ours(folder)),
    () => rate(ACTORS * turns, () => bare(join(folder, "troupe.db"))),
  );
  print({ what: "events verified, of reading and hashing the same rows", measured: times(verified, read), unit: "×", least: 0.45 });
  print({ what: "events verified", measured: verified, unit: "/s" });
};
