// Owns: checking chains: hashes, receipts, and running turns again with the code that is served now. Does not own: how it is done
// (core/chain, bridges/operate).

import { isActorId, kindOf, omitUndefined } from "../../core/contract/internal.ts";
import { replayChain, verdictOn } from "../operate/index.ts";
import type { ConsoleData } from "./data.ts";
import { eventRow } from "./event-rows.ts";
import { actorOf, badRequest, behaviourOf, notAvailable, serverOf, stateOf, unlessDamaged } from "./requests.ts";
import type { ConsoleRequest, ConsoleRoute } from "./routes.ts";
import type { ReceiptCheck, Replayed, Verified } from "./shapes.ts";

export const verifyRoutes: readonly ConsoleRoute[] = [
  {
    verb: "POST",
    path: "/actors/:kind/:key/verify",
    summary: "Checks the hashes of an actor's whole chain.",
    body: { type: "object", additionalProperties: false },
    answers: "Verified",
    streams: true,
    handle: verify,
  },
  {
    verb: "POST",
    path: "/actors/:kind/:key/replay",
    summary: "Runs the turns of an actor again with the code that is served now, and compares each with its event.",
    body: { type: "object", properties: { to: { type: "integer", minimum: 1 } }, additionalProperties: false },
    answers: "Replayed",
    streams: true,
    handle: replay,
  },
  {
    verb: "POST",
    path: "/receipts/check",
    summary: "Whether an actor's chain has the event that a receipt names.",
    body: {
      type: "object",
      properties: { actor: { type: "string" }, seq: { type: "integer", minimum: 1 }, head: { type: "string" } },
      required: ["actor", "seq", "head"],
    },
    answers: "ReceiptCheck",
    handle: checkReceipt,
  },
];

async function verify(request: ConsoleRequest, { reader }: ConsoleData): Promise<Verified> {
  const actor = actorOf(request);
  // Where it is damaged, the verdict says so.
  const found = await unlessDamaged(stateOf(reader, actor));
  const verdict = await verdictOn(reader, actor, {
    onPage(done) {
      request.emit("progress", { done, ...omitUndefined({ total: found?.seq }) });
      return !request.disconnected.aborted;
    },
  });
  const { flaw, events, erased } = verdict;
  return {
    actor,
    events,
    ok: flaw === undefined,
    flaws: flaw === undefined ? [] : [flaw],
    erasedBodies: erased,
    head: verdict.head ?? found?.head ?? "",
  };
}

async function replay(request: ConsoleRequest, data: ConsoleData): Promise<Replayed> {
  const actor = actorOf(request);
  const { seq: length, persistence } = await stateOf(data.reader, actor);
  serverOf(data);
  const behaviour = behaviourOf(data, actor);
  if (behaviour === undefined) throw notAvailable(`No module that is served defines the kind "${kindOf(actor)}".`);
  if (persistence === "memory") throw notAvailable(`${actor} is in memory only: its events are not stored.`);
  const { to } = request.body;
  const total = typeof to === "number" ? to : length;
  if (total > length) throw badRequest(`to must be the number of an event: from 1 to ${length}.`);
  const done = await replayChain(data.reader, actor, behaviour, {
    to: total,
    onPage(seq) {
      request.emit("progress", { done: seq, total });
      return !request.disconnected.aborted;
    },
  });
  const { seq, run, differ, taken } = done;
  const mismatches = done.mismatches.map(({ seq: at, what, recorded = null, now = null }) => ({ seq: at, what, recorded, now }));
  return { actor, seq, run, differ, taken, mismatches };
}

async function checkReceipt({ body }: ConsoleRequest, { reader }: ConsoleData): Promise<ReceiptCheck> {
  const { actor, seq, head } = body;
  if (!isActorId(actor) || typeof seq !== "number" || typeof head !== "string")
    throw badRequest('A receipt is { "actor": "kind/key", "seq": 3, "head": "…" }.');
  const found = await reader.state(actor);
  if (found === undefined) return { ok: false, what: `There is no actor ${actor}: its chain was removed, or is elsewhere.` };
  const [event] = seq > found.seq ? [] : await reader.events(actor, seq - 1, 1);
  if (event === undefined)
    return {
      ok: false,
      what: `The receipt names event ${seq}; this chain ends at event ${found.seq}. It was rolled back, or its events are not stored.`,
    };
  const row = eventRow(event, []);
  return event.id === head
    ? { ok: true, what: `The chain has this event as its number ${seq}.`, event: row }
    : { ok: false, what: `Event ${seq} is ${event.id.slice(0, 12)}… here: this is another history.`, event: row };
}
