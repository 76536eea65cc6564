// A data directory in which there is something of everything an export carries.
import { generateKeyPairSync } from "node:crypto";
import { checkpointEntry, forkEntry, signingKey } from "troupe/chain";
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import { type SimulatedClock, SimulatedEntropy, until } from "troupe/testing";
import { chainOf, messageTo, tallyKind } from "troupe/conformance";
import type { ActorId, Json, Viewer } from "../../src/core/contract/index.ts";

const viewer: Viewer = { principal: "ann", scopes: [] };

export const MAIN: ActorId = "tally/main";
export const LIVES: ActorId = "tally/a%20few%20lives";
export const OLD: ActorId = "tally/old";
export const PARENT: ActorId = "tally/parent";
export const CHILD: ActorId = "tally/child";
export const FORK: ActorId = "tally/fork";
export const WAITING: ActorId = "tally/waiting";
export const OTHER: ActorId = "bell/tower";
export const KEYED = { to: MAIN, action: "add", args: { by: 2 }, viewer } as const;
export const DUE = { to: WAITING, action: "later", args: null, viewer } as const;
export const WAKE_MS = 60_000;

export const kinds = [tallyKind("tally"), tallyKind("bell")];

/** PEM of who signed the checkpoint. */
export interface Made {
  readonly publicKey: string;
}

/** Time stands still in it: every export of the same directory is the same. */
export async function makeWorld(directory: string, clock: SimulatedClock): Promise<Made> {
  const entropy = new SimulatedEntropy();
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const stamped = (): { messageId: string; at: number; seed: string } => ({
    messageId: entropy.uuid(),
    at: clock.now(),
    seed: entropy.hex(16),
  });
  await using store = sqliteStore({ directory, clock });
  {
    await using engine = await LocalEngine.start({ kinds, store, clock, entropy });
    const call = (to: ActorId, action: string, args: Json = null): ReturnType<LocalEngine["call"]> =>
      engine.call({ to, action, args, start: null });
    await call(MAIN, "add");
    await engine.call(KEYED, { key: "order-1" });
    await engine.call({ ...KEYED, action: "note", args: { text: "☃" } }, { key: "order-2" });
    for (const end of ["first", "second"]) {
      await call(LIVES, "note", { text: `a ☃ "${end}" life\n` });
      await call(LIVES, "stop", { reason: end });
    }
    await call(LIVES, "add", { by: 3 });
    await Promise.all(Array.from({ length: 200 }, (_, index) => call(OLD, "note", { text: `line ${index}` })));
    const entry = await engine.append(OLD, (stored) => checkpointEntry(OLD, stored, stamped(), signingKey(privateKey)));
    await store.erase(OLD, entry.seq);
    await call(OLD, "add");
    await call(PARENT, "send", { to: CHILD, action: "add", start: null });
    await until("the child is there", async () => (await engine.read(CHILD)) !== undefined);
    await call(OTHER, "wake", { name: "noon", at: clock.now() + WAKE_MS, action: "note" });
    await call(WAITING, "note", { text: "not yet" });
    // Its answer never comes here: the caller is gone with this process.
    void engine.call(DUE, { key: "due-1" }).catch(() => undefined);
    await until(
      "the call is told later",
      async () => (await store.load(WAITING))?.row.pending !== undefined && (await store.claimants("ann\ndue-1")).length === 1,
    );
    await store.commit(FORK, forkEntry(await chainOf(engine, MAIN), { to: FORK, origin: {}, life: entropy.uuid(), ...stamped() }));
  }
  for (const [id, failures] of [
    ["out.1", 2],
    ["out.2", 0],
  ] as const) {
    await store.enqueue(messageTo(MAIN, id, { action: "note", args: { text: id }, seed: entropy.hex(16), at: clock.now() }));
    for (let failed = 0; failed < failures; failed += 1) await store.settle(id, "failed");
  }
  await store.enqueue(messageTo("nobody/x", "dead.1"));
  await store.settle("dead.1", "dead", { why: 'NO_ACTOR: "nobody" is not there' });
  return { publicKey: publicKey.export({ type: "spki", format: "pem" }).toString() };
}
