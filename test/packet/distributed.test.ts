// Capabilities whose actors are on a Restate server: the same packets, the same replies, on whichever node.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Engine, systemClock, systemEntropy } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { actorCapability, Capabilities, type Capability, PacketFlow } from "../../src/bridges/packet/index.ts";
import { memoryStore } from "../../src/core/store/index.ts";
import { install } from "../restate/install.ts";
import { openOn } from "../restate/open-engine.ts";
import { RestateServer } from "../restate/restate-server.ts";
import { at } from "../wire.ts";

let server: RestateServer | undefined;
let sdk: unknown;

const running = (): RestateServer => {
  if (server === undefined) throw new Error("The server has not started.");
  return server;
};

before(async () => {
  const installed = await install();
  sdk = installed.sdk;
  server = await RestateServer.start(installed.server);
});

after(() => server?.[Symbol.asyncDispose]());

const notesOn = (persistence: "disk" | "distributed") =>
  actorCapability("notes", {
    intent: "Keep notes",
    persistence,
    provides: ["count"],
    initialState: { notes: Array<string>() },
    messages: {
      crash: {
        match: { do: "crash" },
        run({ state }) {
          state.notes.push("lost");
          throw new Error("It broke.");
        },
      },
      list: { match: { do: "list" }, view: ({ state }) => ({ count: state.notes.length, notes: state.notes }) },
      slowly: {
        match: { do: "slowly" },
        async work({ state }) {
          state.notes.push("slowly");
          return { count: state.notes.length };
        },
      },
      broken: {
        match: { do: "break the contract" },
        run({ state }) {
          state.notes.push("lost");
          return {};
        },
      },
      end: {
        match: { do: "end" },
        run({ state, stop }) {
          stop("enough");
          return { count: state.notes.length };
        },
      },
      add: {
        run({ state, payload }) {
          state.notes.push(JSON.stringify(payload["text"]));
          return { count: state.notes.length };
        },
      },
    },
  });

/** What a sequence of packets is answered, times apart. */
const answers = async (engine: Engine, notes: Capability, packets: readonly object[]): Promise<readonly unknown[]> => {
  await using flow = new PacketFlow({ capabilities: new Capabilities([notes]), engine, actors: { maxPerUser: 2 } });
  const session = flow.open({ caller: { principal: "ada", scopes: [] } });
  const other = flow.open({ caller: { principal: "bob", scopes: [] } });
  const replies: unknown[] = [];
  for (const { by = "ada", ...packet } of packets.map((one): { readonly by?: string } => one)) {
    const reply = await (by === "ada" ? session : other).receive(
      JSON.stringify({ version: "1.0", type: "actor_message", capability_id: "notes", context: { trace_id: "t" }, ...packet }),
    );
    const { metadata, ...rest } = reply;
    replies.push({ ...rest, message_count: metadata["message_count"], error_code: metadata["error_code"] });
  }
  return replies;
};

const say = (payload: object, more: object = {}): object => ({ actor_id: "a", payload, ...more });

const FIRST = [
  say({ text: "one" }, { actor_options: { create_if_missing: false } }),
  say({ text: "one" }),
  say({ text: "two" }),
  say({ do: "slowly" }),
  say({ do: "crash" }),
  say({ do: "break the contract" }),
  say({ do: "list" }),
  say({ text: "not his" }, { by: "bob" }),
  say({ text: "hers" }, { actor_id: "b" }),
  say({ text: "too many" }, { actor_id: "c" }),
];
const LIVES = 8;
const LATER = Array.from({ length: LIVES }, () => [say({ do: "list" }), say({ do: "end" }), say({ text: "again" })]).flat();

test("actors of capabilities that are distributed answer as local ones do, and are there for the next node #packet.actor.persistence #packet.phase.3-distribution #packet.forward.backends", async () => {
  const [kept, distributed] = [notesOn("disk"), notesOn("distributed")];
  await using local = await LocalEngine.start({ kinds: [kept.kind], store: memoryStore({}) });
  await using opened = await openOn(running, () => sdk)({ kinds: [distributed.kind], clock: systemClock, entropy: systemEntropy });
  const expected = await answers(local, kept, FIRST);
  assert.deepEqual(await answers(opened.engine, distributed, FIRST), expected);
  assert.deepEqual(
    expected.map((reply) => at(reply, "payload", "error", "type") ?? at(reply, "payload", "count")),
    ["actor_not_found", 1, 2, 3, "actor_crash", "contract_violation", 3, "actor_not_found", 1, "actor_limit_exceeded"],
  );
  const next = await opened.reopen();
  const later = await answers(local, kept, LATER);
  assert.deepEqual(await answers(next, distributed, LATER), later);
  assert.deepEqual(
    later.map((reply) => at(reply, "payload", "count")),
    Array.from({ length: LIVES }, (_, life) => [3 + life, 3 + life, 4 + life]).flat(),
  );
});
