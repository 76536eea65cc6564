import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Catalogue, Channel, OfferRef, Reply, Source, Surface } from "../../core/contract/index.ts";
import { listed } from "../source/index.ts";
import { ClientNotifications, type SubscriptionHost } from "./client-notifications.ts";
import { channelDouble, quiet } from "./kit.fixture.ts";

const offer = (name: string): Catalogue["tools"][number] => ({
  name,
  action: name,
  readOnly: false,
  definition: { inputSchema: { type: "object" } },
});
const catalogue: Catalogue = { tools: ["a", "b", "c"].map(offer), resources: [], prompts: ["p", "q"].map(offer) };

interface Stage {
  readonly host: SubscriptionHost;
  readonly notifications: string[];
  channel(): Channel;
  off: readonly OfferRef[];
  change(off: readonly OfferRef[]): void;
  /** The same, with the surface, for as long as that is current. */
  hand(off: readonly OfferRef[]): void;
  flag(takeSurface: () => Surface | undefined): void;
  /** How often its surface was read. */
  surfaceReads: number;
  /** The offers it was watched for, and whether for their contents. */
  readonly watched: (readonly [only: OfferRef | undefined, contents: boolean | undefined])[];
  touch(uri: string): void;
  /** The number of current watches. */
  listening(): number;
}

/** A source whose surface takes time, and a record of its notifications. */
function stage(): Stage {
  const notifications: string[] = [];
  const dirty = new Set<Parameters<Source["watch"]>[1]>();
  const surfaceOf = (off: readonly OfferRef[]): Surface => ({ catalogue, off: Object.fromEntries(off.map((ref) => [ref, true as const])) });
  const uris = new Map<string, () => void>();
  const made: Stage = {
    notifications,
    channel: () => Object.assign(channelDouble(), { send: (text: string) => void notifications.push(text) }),
    off: [],
    change(off) {
      made.off = off;
      for (const run of dirty) run();
    },
    hand(off) {
      made.off = off;
      for (const run of dirty) run(undefined, () => (made.off === off ? surfaceOf(off) : undefined));
    },
    flag(takeSurface) {
      for (const run of dirty) run(undefined, takeSurface);
    },
    surfaceReads: 0,
    watched: [],
    touch: (uri) => uris.get(uri)?.(),
    listening: () => dirty.size + uris.size,
    host: {
      source: {
        async surface(): Promise<Surface> {
          made.surfaceReads += 1;
          const surface = surfaceOf(made.off);
          await new Promise((resolve) => setImmediate(resolve));
          return surface;
        },
        act: async () => ({ ok: null }),
        watch(_viewer, run, only, contents) {
          made.watched.push([only?.ref, contents]);
          if (only === undefined) {
            dirty.add(run);
            return () => void dirty.delete(run);
          }
          const uri = only.ref;
          uris.set(uri, () => run(only.ref));
          return () => void uris.delete(uri);
        },
      } satisfies Source,
      listMode: "dynamic",
      wanted: ["tools", "resources", "prompts"],
      log: () => undefined,
      listChanged: (list) => list,
      updated: (uri) => uri,
    },
  };
  return made;
}

test("C8 a client that leaves while its lists are read is notified when it returns", async () => {
  const made = stage();
  const audience = new ClientNotifications(made.host, { scopes: [] });
  const [first, second] = [made.channel(), made.channel()];
  await audience.start(first);
  audience.subscribe("u", { ref: "resources/u", args: {}, scopes: [] });
  made.change(["tools/a"]);
  made.touch("resources/u");
  const settled = audience.settle();
  audience.detach(first);
  await settled;
  assert.deepEqual(made.notifications, []);
  await audience.start(second);
  await quiet();
  assert.deepEqual(made.notifications, ["tools", "u"]);
  audience.stop();
  made.change([]);
  made.touch("resources/u");
  await quiet();
  assert.deepEqual(made.notifications, ["tools", "u"]);
});

test("C8 what changes between a subscription and the client's first channel is notified on that", async () => {
  const made = stage();
  const audience = new ClientNotifications(made.host, { principal: "ann", scopes: [] });
  audience.subscribe("u", { ref: "resources/u", args: {}, scopes: [] });
  audience.subscribe("v", { ref: "resources/v", args: {}, scopes: [] });
  made.touch("resources/u");
  await quiet();
  assert.equal(made.listening(), 1, "what is dirty need not be watched");
  audience.setViewer({ principal: "ann", scopes: ["more"] });
  made.touch("resources/v");
  await audience.start(made.channel());
  assert.deepEqual(made.notifications, ["u", "v"]);
  audience.stop();
  assert.equal(made.listening(), 0);
});

test("C8 subscribing again follows a URI to the offer that has it now", async () => {
  const made = stage();
  const audience = new ClientNotifications(made.host, { scopes: [] });
  await audience.start(made.channel());
  for (const ref of ["resources/old", "resources/new"] as const) audience.subscribe("u", { ref, args: {}, scopes: [] });
  made.touch("resources/old");
  await quiet();
  assert.deepEqual(made.notifications, []);
  made.touch("resources/new");
  await quiet();
  assert.deepEqual(made.notifications, ["u"]);
  audience.stop();
});

test("C8 a URI that gets another offer is watched for the viewer of now, not for the one that was there when it was read", async () => {
  const made = stage();
  const template = { ...offer("new"), definition: { uriTemplate: "x://{n}" } };
  const read: { readonly principal: string | undefined; readonly answer: (reply: Reply) => void }[] = [];
  const watched: unknown[] = [];
  let current = catalogue;
  const dirty = new Set<() => void>();
  const source: Source = {
    surface: () => ({ catalogue: current, off: {} }),
    act: ({ principal }) => new Promise((answer) => read.push({ principal, answer })),
    watch({ principal }, run, only) {
      if (only === undefined) dirty.add(run);
      else watched.push([principal, only.ref]);
      return () => void dirty.delete(run);
    },
  };
  const audience = new ClientNotifications({ ...made.host, source }, { principal: "ann", scopes: [] });
  await audience.start(made.channel());
  for (const n of [1, 2]) audience.subscribe(`x://${n}`, { ref: "resources/old", args: {}, scopes: [] });
  watched.length = 0;
  current = { ...catalogue, resources: [template] };
  for (const run of dirty) run();
  await quiet();
  audience.setViewer({ principal: "bob", scopes: [] });
  watched.length = 0;
  await audience.start(made.channel());
  await quiet();
  assert.deepEqual(
    read.map(({ principal }) => principal),
    ["ann", "ann", "bob", "bob"],
  );
  for (const { answer } of read.slice(0, 2)) answer({ ok: null });
  await quiet();
  assert.deepEqual(watched, [], "bob may not read them because ann may");
  read[2]?.answer({ refused: { code: "UNKNOWN", message: "There is none." } });
  read[3]?.answer({ ok: null });
  await quiet();
  assert.deepEqual(watched, [["bob", "resources/new"]]);
  audience.stop();
});

test("C8 a subscription is silent while the token on the stream lacks its scope", async () => {
  const made = stage();
  const [admin, other] = [
    { principal: "ann", scopes: ["admin"] },
    { principal: "ann", scopes: [] },
  ];
  const audience = new ClientNotifications(made.host, admin);
  audience.subscribe("u", { ref: "resources/u", args: {}, scopes: ["admin"] });
  await audience.start(made.channel());
  made.touch("resources/u");
  await quiet();
  assert.deepEqual(made.notifications, ["u"]);
  audience.setViewer(other);
  await audience.start(made.channel());
  made.touch("resources/u");
  await quiet();
  assert.deepEqual(made.notifications, ["u"]);
  audience.setViewer(admin);
  made.touch("resources/u");
  await quiet();
  assert.deepEqual(made.notifications, ["u", "u"]);
  audience.stop();
});

test("a source is watched for lists, and for the contents of subscribed URIs", async () => {
  const made = stage();
  const audience = new ClientNotifications(made.host, { scopes: [] });
  await audience.start(made.channel());
  audience.subscribe("u", { ref: "resources/u", args: {}, scopes: [] });
  assert.deepEqual(made.watched, [
    [undefined, false],
    ["resources/u", undefined],
  ]);
  audience.stop();
});

test("C8 a list is notified exactly when it differs from what the client saw last", async () => {
  const refs: readonly OfferRef[] = ["tools/a", "tools/b", "prompts/p"];
  const step = fc.oneof(
    fc.subarray([...refs]).map((off) => ({ kind: "change" as const, off })),
    fc.subarray([...refs]).map((off) => ({ kind: "hand" as const, off })),
    fc.constant({ kind: "list" as const, off: [] }),
    fc.constant({ kind: "wait" as const, off: [] }),
    fc.constant({ kind: "settle" as const, off: [] }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const made = stage();
      const audience = new ClientNotifications(made.host, { scopes: [] });
      await audience.start(made.channel());
      const view = (list: "tools" | "prompts"): string =>
        made.off
          .filter((ref) => ref.startsWith(list))
          .toSorted()
          .join();
      const known = { tools: "", prompts: "" };
      for (const { kind, off } of steps) {
        const before = made.notifications.length;
        if (kind === "change") made.change(off);
        if (kind === "hand") made.hand(off);
        if (kind === "list") {
          const surface: Surface = { catalogue, off: Object.fromEntries(made.off.map((ref) => [ref, true as const])) };
          await quiet();
          audience.recordList(listed(surface, "dynamic"), "tools");
        }
        if (kind === "wait" || kind === "change") await quiet();
        if (kind === "settle") await audience.settle();
        await quiet();
        const sent = made.notifications.slice(before).toSorted();
        const changed = (["prompts", "tools"] as const).filter((list) => known[list] !== view(list));
        assert.deepEqual(sent, changed);
        known.tools = view("tools");
        known.prompts = view("prompts");
      }
      audience.stop();
    }),
    { numRuns: 100 },
  );
});

test("C8 a change that carries the surface is notified without reading it again", async () => {
  const made = stage();
  const audience = new ClientNotifications(made.host, { scopes: [] });
  await audience.start(made.channel());
  const { surfaceReads } = made;
  made.hand(["tools/a"]);
  await quiet();
  assert.deepEqual(made.notifications, ["tools"]);
  assert.equal(made.surfaceReads, surfaceReads);
  made.hand(["tools/b"]);
  made.change(["prompts/p"]);
  await quiet();
  assert.deepEqual(made.notifications.slice(1).toSorted(), ["prompts", "tools"]);
  assert.equal(made.surfaceReads, surfaceReads + 1);
  // The flag is older than the list the client was sent.
  made.hand(["tools/b", "prompts/p"]);
  made.off = ["prompts/p"];
  audience.recordList(listed({ catalogue, off: { "prompts/p": true } }, "dynamic"), "tools");
  await quiet();
  assert.equal(made.notifications.length, 3);
  assert.equal(made.surfaceReads, surfaceReads + 2);
  // The surface that came with the flag is no longer available.
  made.hand(["tools/a"]);
  made.off = ["tools/b", "prompts/p"];
  await quiet();
  assert.equal(made.notifications.length, 4);
  assert.equal(made.surfaceReads, surfaceReads + 3);
  audience.stop();
});

test("C8 for a client that does not read only flags are stored, and no surface", async () => {
  const made = stage();
  const audience = new ClientNotifications(made.host, { scopes: [] });
  const [first, second] = [made.channel(), made.channel()];
  await audience.start(first);
  const { surfaceReads } = made;
  let looks = 0;
  const takeSurface = (): undefined => void (looks += 1);
  const ready = { now: false };
  Object.defineProperty(first, "ready", { get: () => ready.now });
  made.flag(takeSurface);
  await quiet();
  made.flag(takeSurface);
  await quiet();
  audience.detach(first);
  made.flag(takeSurface);
  made.off = ["tools/a"];
  await audience.start(second);
  await quiet();
  assert.deepEqual([looks, made.surfaceReads, made.notifications], [0, surfaceReads + 1, ["tools"]]);
  audience.stop();
});

test("C8 a client without a stream is not watched for once it has flags", async () => {
  const made = stage();
  const audience = new ClientNotifications(made.host, { scopes: [] });
  const away = made.channel();
  audience.subscribe("u", { ref: "resources/u", args: {}, scopes: [] });
  audience.subscribe("v", { ref: "resources/v", args: {}, scopes: [] });
  await audience.start(away);
  audience.detach(away);
  await quiet();
  assert.equal(made.listening(), 3);
  made.touch("resources/u");
  await quiet();
  assert.equal(made.listening(), 2);
  made.change(["tools/a"]);
  await quiet();
  assert.equal(made.listening(), 1);
  // Nothing watches for these.
  made.change(["tools/a", "prompts/p"]);
  made.touch("resources/u");
  await quiet();
  await audience.start(made.channel());
  await quiet();
  assert.deepEqual(made.notifications.splice(0), ["tools", "prompts", "u"]);
  assert.equal(made.listening(), 3);
  made.touch("resources/u");
  made.touch("resources/v");
  made.change([]);
  await quiet();
  assert.deepEqual(made.notifications.splice(0), ["tools", "prompts", "u", "v"]);
  audience.stop();
  assert.equal(made.listening(), 0);
});

test("C8 a client whose lists cannot be read is notified of those it saw", async () => {
  const made = stage();
  const audience = new ClientNotifications(made.host, { scopes: [] });
  await audience.start(made.channel());
  audience.subscribe("u", { ref: "resources/u", args: {}, scopes: [] });
  const surface = made.host.source.surface.bind(made.host.source);
  made.host.source.surface = () => Promise.reject(new Error("the disk"));
  made.change(["tools/a"]);
  made.touch("resources/u");
  await audience.settle();
  assert.deepEqual(made.notifications.toSorted(), ["prompts", "resources", "tools", "u"]);
  made.notifications.length = 0;
  made.host.source.surface = surface;
  made.change(["tools/a"]);
  await audience.settle();
  assert.deepEqual(made.notifications, ["tools"]);
});
