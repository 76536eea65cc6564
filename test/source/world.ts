import type { OfferRef, Source, Viewer } from "../../src/core/contract/index.ts";
import { cast, type CastOptions } from "../../src/mcp/source/index.ts";
import { FakeEngine } from "./fake-engine.ts";
import { player, room } from "./rooms.ts";

/** Three rooms, and two players in the hall. */
export function world(
  options: Partial<CastOptions> = {},
  Fake: typeof FakeEngine = FakeEngine,
): { readonly engine: FakeEngine; readonly source: Source } {
  const engine = new Fake([player, room]);
  engine.put("room/hall", { items: ["torch"], dark: false });
  engine.put("room/cave", { items: ["key", "gem"], dark: true });
  engine.put("room/attic", { items: [], dark: false });
  for (const name of ["ana", "bob"]) engine.put(`player/${name}`, { room: "hall", items: [] });
  return { engine, source: cast({ engine, kinds: [player, room], ...options }) };
}

/** Collects what a watcher is notified of. */
export function listen(
  source: Source,
  viewer: Viewer,
  contents?: boolean,
): { readonly flags: (OfferRef | "lists")[]; readonly undo: () => void } {
  const flags: (OfferRef | "lists")[] = [];
  return { flags, undo: source.watch(viewer, (ref) => flags.push(ref ?? "lists"), undefined, contents) };
}

/** Resolves when nothing is pending: reads of a fake engine take microtasks only. */
export async function quiet(): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
