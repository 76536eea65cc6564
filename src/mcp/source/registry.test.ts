import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { elicit, refuse } from "../../core/actor/index.ts";
import type { CallOptions, Clock, Json, OfferRef, Reply, Source, Viewer } from "../../core/contract/index.ts";
import { listed, merge, meta, prefix, registry, strict, tool } from "./index.ts";
import * as z from "zod";

const viewer: Viewer = { principal: "ana", scopes: [] };

function example() {
  let light = true;
  const source = registry({
    name: "example",
    instructions: "Be kind.",
    tools: {
      add: tool({ describe: "Adds.", input: z.object({ a: z.number(), b: z.number().default(1) }), run: ({ a, b }) => a + b }),
      echo: {
        describe: "As it came.",
        input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        run: ({ text }) => text,
      },
      fail: { describe: "Refuses.", run: () => refuse("Not today.", { code: "LATER", data: { when: "tomorrow" } }) },
      crash: {
        describe: "Breaks.",
        run() {
          throw new Error("secret path");
        },
      },
      read: { describe: "Needs light.", when: () => light || "It is dark.", run: () => "text" },
      shy: { describe: "Hidden from others.", when: ({ principal }) => principal === "ana", run: () => "hello" },
      sure: {
        describe: "Asks.",
        run: (_args, { ask }) => ask({ sure: { method: "elicitation/create", params: { message: "Sure?" } } }),
      },
      slow: {
        describe: "Waits.",
        run: (_args, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      },
      tell: {
        describe: "Says how far it is.",
        run(_args, { progress, log, can, key }) {
          progress(1, 2, "half");
          log("info", "here");
          return { roots: can("roots"), key: key ?? null };
        },
      },
    },
    resources: {
      text: { uri: "test://text", mimeType: "text/plain", read: () => "static" },
      user: {
        uri: "test://users/{id}",
        read: ({ id }) => ({ id }),
        complete: { id: (value) => ["1", "12", "2"].filter((id) => id.startsWith(value)) },
      },
    },
    prompts: {
      greet: {
        describe: "Greets.",
        arguments: [{ name: "name", required: true }],
        get: ({ name }) => `Hello ${name}.`,
        complete: { name: async () => ["Ana"] },
      },
    },
  });
  return {
    source,
    dim: () => {
      light = false;
      source.relist();
    },
  };
}

const act = (source: Source, ref: OfferRef, args: Json = {}, options: CallOptions = {}): Promise<Reply> =>
  source.act(viewer, ref, args, options);

const names = async (source: Source, who = viewer): Promise<readonly string[]> =>
  listed(await source.surface(who), "dynamic").tools.map(({ name }) => name);

describe("registry", () => {
  it("checks arguments, with a schema's defaults, and shows a JSON Schema unchanged", async () => {
    const { source } = example();
    assert.deepEqual(await act(source, "tools/add", { a: 2 }), { ok: 3 });
    const wrong = await act(source, "tools/add", { a: "2" });
    assert.ok("refused" in wrong && wrong.refused.code === "INVALID" && wrong.refused.message.startsWith("Invalid arguments: a: "));
    assert.deepEqual(await act(source, "tools/echo", {}), {
      refused: { code: "INVALID", message: "Invalid arguments: must have required property 'text'." },
    });
    const echo = listed(source.surface(viewer), "gated").tools.find(({ name }) => name === "echo");
    assert.deepEqual(echo?.["inputSchema"], { type: "object", properties: { text: { type: "string" } }, required: ["text"] });
  });

  it("a thrown refusal refuses, a request needs answers, and any other throw is a fault without its message", async () => {
    const { source } = example();
    assert.deepEqual(await act(source, "tools/fail"), { refused: { code: "LATER", message: "Not today.", data: { when: "tomorrow" } } });
    assert.deepEqual(await act(source, "tools/sure"), { needs: { sure: { method: "elicitation/create", params: { message: "Sure?" } } } });
    assert.deepEqual(await act(source, "tools/sure", {}, { answers: { sure: { action: "accept" } } }), {
      ok: { sure: { action: "accept" } },
    });
    await assert.rejects(
      act(source, "tools/crash"),
      (error: Error) => "code" in error && error.code === "CRASHED" && !error.message.includes("secret"),
    );
  });

  it("law 3: what is off is refused with its reason, and hidden answers like unknown", async () => {
    const { source, dim } = example();
    dim();
    assert.deepEqual(await act(source, "tools/read"), { refused: { code: "NOT_NOW", message: "It is dark." } });
    const bob: Viewer = { principal: "bob", scopes: [] };
    assert.ok(!(await names(source, bob)).includes("shy"));
    assert.deepEqual(await source.act(bob, "tools/shy", {}, {}), await source.act(bob, "tools/none", {}, {}));
    assert.deepEqual(await act(source, "tools/shy"), { ok: "hello" });
  });

  it("law 3: an invalid `when` turns its own offer off, and is reported once", async () => {
    const faults: unknown[] = [];
    const gate = (when: () => unknown) => Object.assign({ run: () => "ran" }, { when: Object(when) });
    const source = registry({
      onFault: (error) => faults.push(error),
      tools: {
        throws: gate(() => {
          throw new RangeError("secret");
        }),
        waits: gate(async () => true),
        rejects: gate(() => Promise.reject(new Error("secret"))),
        number: gate(() => 0),
        nothing: gate(() => undefined),
        fine: gate(() => true),
        plain: { run: () => "ran" },
      },
      prompts: { broken: { when: Object(() => null), get: () => "messages" } },
    });
    assert.deepEqual(await names(source), ["fine", "plain"]);
    assert.deepEqual(listed(source.surface(viewer), "gated").tools.length, 7);
    for (const name of ["throws", "waits", "rejects", "number", "nothing"] as const)
      assert.deepEqual(await act(source, `tools/${name}`), { refused: { code: "NOT_NOW", message: "This tool is out of order." } }, name);
    assert.deepEqual(await act(source, "prompts/broken"), { refused: { code: "NOT_NOW", message: "This prompt is out of order." } });
    assert.deepEqual([await act(source, "tools/fine"), await act(source, "tools/plain")], [{ ok: "ran" }, { ok: "ran" }]);
    source.relist();
    await names(source);
    const messages = faults.map((error) => (error instanceof Error ? error.message : ""));
    assert.equal(messages.length, 6);
    assert.doesNotMatch(messages.join(), /secret/);
    assert.match(messages[0] ?? "", /^tools\/throws is out of order: .+ threw RangeError/);
    assert.match(messages[1] ?? "", /^tools\/waits .+ gave a promise: give true, false/);
    assert.match(messages[3] ?? "", /^tools\/number .+ gave a number/);
    assert.match(messages[5] ?? "", /^prompts\/broken .+ gave null/);
  });

  it("passes progress, log, key and the client's capabilities", async () => {
    const messages: unknown[] = [];
    const options: CallOptions = {
      key: "k",
      can: ["roots"],
      onProgress: (done, total, text) => messages.push([done, total, text]),
      onLog: (...l) => messages.push(l),
    };
    assert.deepEqual(await act(example().source, "tools/tell", {}, options), { ok: { roots: true, key: "k" } });
    assert.deepEqual(messages, [
      [1, 2, "half"],
      ["info", "here", undefined],
    ]);
  });

  it("aborts a handler that takes too long, or whose caller cancelled", async () => {
    let timeOut: (() => void) | undefined;
    const clock: Clock = {
      now: () => 0,
      after: (_ms, run) => {
        timeOut = run;
        return () => undefined;
      },
    };
    const slow = registry({ clock, tools: { slow: { run: () => new Promise(() => undefined) } } });
    const timed = act(slow, "tools/slow");
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    timeOut?.();
    await assert.rejects(timed, { code: "WORK_TIMEOUT" });
    const caller = new AbortController();
    const cancelled = act(example().source, "tools/slow", {}, { signal: caller.signal });
    caller.abort();
    await assert.rejects(cancelled, { code: "CANCELLED" });
  });

  it("reads resources by template, gets prompts, completes both", async () => {
    const { source } = example();
    assert.deepEqual(await act(source, "resources/user", { id: "7" }), { ok: { id: "7" } });
    assert.deepEqual(await act(source, "prompts/greet", { name: "Bo" }), { ok: "Hello Bo." });
    assert.ok("refused" in (await act(source, "prompts/greet", {})));
    assert.deepEqual(await source.complete?.(viewer, "resources/user", "id", "1", {}), ["1", "12"]);
    assert.deepEqual(await source.complete?.(viewer, "prompts/greet", "name", "", {}), ["Ana"]);
    assert.deepEqual(await source.complete?.(viewer, "prompts/greet", "other", "", {}), []);
  });

  it("adds and removes at run time, and notifies watchers", async () => {
    const { source } = example();
    const flags: (OfferRef | undefined)[] = [];
    const undo = source.watch(viewer, (ref) => flags.push(ref));
    const only: (OfferRef | undefined)[] = [];
    const undoOnly = source.watch(viewer, (ref) => only.push(ref), { ref: "resources/user", args: { id: "1" } });
    const lists: (OfferRef | undefined)[] = [];
    const undoLists = source.watch(viewer, (ref) => lists.push(ref), undefined, false);
    const before = source.surface(viewer);
    const drop = source.add({ tools: { extra: { run: () => "x" } } });
    assert.notEqual(source.surface(viewer).catalogue, before.catalogue);
    assert.deepEqual(await act(source, "tools/extra"), { ok: "x" });
    assert.throws(() => source.add({ tools: { extra: { run: () => "y" } } }), { code: "NAME_COLLISION" });
    drop();
    assert.equal(source.remove("tools/extra"), false);
    source.changed("user", { id: "2" });
    source.changed("user", { id: "1" });
    source.changed("user");
    assert.deepEqual(flags, [undefined, undefined, "resources/user", "resources/user", "resources/user"]);
    assert.deepEqual(only, ["resources/user", "resources/user"]);
    assert.deepEqual(lists, [undefined, undefined]);
    undo();
    undoOnly();
    undoLists();
    source.changed("text");
    assert.equal(flags.length, 5);
    assert.throws(() => source.changed("none"), { code: "BAD_NAME" });
  });

  it("lists in the order of addition, and makes each offer once", async () => {
    const source = registry({});
    for (const name of ["b", "2", "a", "1"]) source.add({ tools: { [name]: { run: () => name } } });
    const [b] = source.surface(viewer).catalogue.tools;
    source.remove("tools/2");
    source.add({ tools: { "2": { run: () => "again" } } });
    assert.deepEqual(await names(source), ["b", "a", "1", "2"]);
    assert.equal(source.surface(viewer).catalogue.tools[0], b);
  });

  it("undo removes what was added, not a later offer of the same name", async () => {
    const source = registry({});
    const undo = source.add({ tools: { a: { run: () => 1 }, b: { run: () => 1 } } });
    source.remove("tools/a");
    source.add({ tools: { a: { run: () => 2 } } });
    let notified = 0;
    source.watch(viewer, () => (notified += 1));
    undo();
    undo();
    assert.deepEqual(await names(source), ["a"]);
    assert.equal(notified, 1);
  });

  it("adds all or nothing, and frees the URIs of removed resources", () => {
    const source = registry({ resources: { a: { uri: "x://a", read: () => 1 } } });
    assert.throws(() => source.add({ tools: { t: { run: () => 1 } }, resources: { b: { uri: "x://a", read: () => 1 } } }), {
      code: "NAME_COLLISION",
      message: /resources\/a and resources\/b have the same URI x:\/\/a/,
    });
    assert.deepEqual(source.surface(viewer).catalogue.tools, []);
    source.remove("resources/a");
    source.add({ resources: { b: { uri: "x://a", read: () => 1 } } });
  });

  it("refuses bad names and two resources of one URI, and has no chain", () => {
    assert.throws(() => registry({ tools: { "a b": { run: () => 1 } } }), { code: "BAD_NAME" });
    assert.throws(() => registry({ names: strict, tools: { "a.b": { run: () => 1 } } }), { code: "BAD_NAME" });
    const same = { uri: "x://a", read: () => 1 };
    assert.throws(() => registry({ resources: { a: same, b: same } }), { code: "NAME_COLLISION" });
    assert.equal(example().source.chain, undefined);
  });
});

describe("merge and prefix", () => {
  it("serve several sources as one, and route each name to its source", async () => {
    const one = example().source;
    const two = registry({ instructions: "Be quick.", tools: { other: { run: () => "other" } } });
    const source = merge(one, two);
    assert.equal(source.instructions, "Be kind.\n\nBe quick.");
    assert.ok((await names(source)).includes("other"));
    assert.deepEqual(await act(source, "tools/other"), { ok: "other" });
    assert.deepEqual(await act(source, "tools/add", { a: 1 }), { ok: 2 });
    assert.ok("refused" in (await act(source, "tools/none")));
    assert.equal(await source.surface(viewer), await source.surface(viewer));
    assert.deepEqual(await source.complete?.(viewer, "resources/user", "id", "2", {}), ["2"]);
    const flags: (OfferRef | undefined)[] = [];
    const undo = source.watch(viewer, (ref) => flags.push(ref));
    two.relist();
    one.changed("text");
    undo();
    one.relist();
    assert.deepEqual(flags, [undefined, "resources/text"]);
  });

  it("refuse two offers of one name, or of one URI, naming both sources", async () => {
    const source = merge(example().source, registry({ name: "second", tools: { add: { run: () => 1 } } }));
    await assert.rejects(async () => source.surface(viewer), {
      code: "NAME_COLLISION",
      message: /tools\/add is offered by the registry "example" and by the registry "second"/,
    });
    const uri = merge(example().source, registry({ resources: { t: { uri: "test://text", read: () => 1 } } }));
    await assert.rejects(async () => uri.surface(viewer), { code: "NAME_COLLISION", message: /test:\/\/text/ });
  });

  it("put names and URIs under a prefix, and remove it for the source", async () => {
    const { source: inner, dim } = example();
    const source = merge(prefix("a", inner), prefix("b", example().source));
    dim();
    const surface = await source.surface(viewer);
    assert.deepEqual(surface.off, { "tools/a.read": "It is dark." });
    const { resources, resourceTemplates } = listed(surface, "dynamic");
    assert.deepEqual(
      [...resources, ...resourceTemplates].map(({ uri, uriTemplate }) => uri ?? uriTemplate),
      ["test://a/text", "test://b/text", "test://a/users/{id}", "test://b/users/{id}"],
    );
    assert.deepEqual(await act(source, "tools/b.add", { a: 1 }), { ok: 2 });
    assert.ok("refused" in (await act(source, "tools/add", { a: 1 })));
    assert.deepEqual(await act(source, "resources/a.user", { id: "3" }), { ok: { id: "3" } });
    assert.deepEqual(await source.complete?.(viewer, "prompts/a.greet", "name", "", {}), ["Ana"]);
    const flags: (OfferRef | undefined)[] = [];
    const undo = source.watch(viewer, (ref) => flags.push(ref));
    const only = source.watch(viewer, (ref) => flags.push(ref), { ref: "resources/a.user", args: { id: "1" } });
    inner.changed("user", { id: "1" });
    undo();
    only();
    assert.deepEqual(flags, ["resources/a.user", "resources/a.user"]);
  });

  it("use strict names on request, and refuse names that do not fit", async () => {
    assert.ok((await names(prefix("a", example().source, strict))).includes("a__add"));
    const tooLong = "a".repeat(70);
    const { tools, missing } = (await prefix(tooLong, example().source, strict).surface(viewer)).catalogue;
    assert.deepEqual([tools.length, missing?.[0]?.code], [0, "BAD_NAME"]);
    const nothing = prefix(tooLong, registry({ tools: { only: { run: () => 1 } } }), strict);
    await assert.rejects(async () => nothing.surface(viewer), { code: "BAD_NAME" });
  });
});

describe("meta", () => {
  it("has two tools that never change, which list what is possible and why others are not", async () => {
    const { source: inner, dim } = example();
    const source = meta(inner);
    const before = listed(await source.surface(viewer), "dynamic").tools;
    assert.deepEqual(
      before.map(({ name }) => name),
      ["actions", "act"],
    );
    dim();
    assert.deepEqual(listed(await source.surface(viewer), "dynamic").tools, before);
    const reply = await act(source, "tools/actions");
    assert.ok("ok" in reply);
    const text = JSON.stringify(reply.ok);
    assert.match(text, /"impossible":\[\{"action":"read","why":"It is dark."\}\]/);
    assert.match(text, /"action":"add"/);
    assert.equal(listed(await source.surface(viewer), "dynamic").resources.length, 1);
  });

  it("gives the reason why an action is off only to callers with its scopes", async () => {
    const scoped = { "troupe/scopes": ["keeper"] };
    const source = meta(registry({ tools: { open: { meta: scoped, when: () => "The king sleeps here.", run: () => null } } }));
    const whys = async (scopes: readonly string[]): Promise<unknown> =>
      Object(await source.act({ principal: "ann", scopes }, "tools/actions", {}, {})).ok;
    assert.deepEqual(await whys(["keeper"]), { possible: [], impossible: [{ action: "open", why: "The king sleeps here." }] });
    const why = "This needs the scope keeper; sign in again with it.";
    assert.deepEqual(await whys([]), { possible: [], impossible: [{ action: "open", why }] });
  });

  it("acts, checks arguments, and refuses unknown actions in words for a model", async () => {
    const source = meta(example().source);
    assert.deepEqual(await act(source, "tools/act", { action: "add", arguments: { a: 4 } }), { ok: 5 });
    const wrong = await act(source, "tools/act", { action: "add", arguments: { a: "4" } });
    assert.ok("refused" in wrong && wrong.refused.code === "INVALID" && wrong.refused.message.startsWith("Invalid arguments: a: "));
    assert.deepEqual(await act(source, "tools/act", { action: "echo" }), {
      refused: { code: "INVALID", message: "arguments of echo: must have required property 'text'" },
    });
    for (const args of [{ action: "none" }, {}, { action: 3 }]) {
      const reply = await act(source, "tools/act", args);
      assert.ok("refused" in reply && reply.refused.code === "INVALID" && reply.refused.message.includes("actions"));
    }
    const direct = await act(source, "tools/add", { a: 4 });
    assert.ok("refused" in direct && direct.refused.code === "UNKNOWN");
    assert.deepEqual(await act(source, "resources/text"), { ok: "static" });
    assert.deepEqual(await source.complete?.(viewer, "resources/user", "id", "2", {}), ["2"]);
  });
});

describe("C8 a watcher of a registry", () => {
  it("is notified though another one throws or rejects", async () => {
    const mine = new Error("mine");
    const faults: unknown[] = [];
    const source = registry({ resources: { text: { uri: "t://t", read: () => "t" } }, onFault: (error) => void faults.push(error) });
    const rejects = (): unknown => Promise.reject(mine);
    source.watch(viewer, () => {
      throw mine;
    });
    source.watch(viewer, rejects);
    const notified: unknown[] = [];
    source.watch(viewer, (ref) => notified.push(ref));
    source.add({ tools: { more: { run: () => null } } });
    source.changed("text");
    assert.equal(source.remove("tools/more"), true);
    await Promise.resolve();
    assert.deepEqual(notified, [undefined, "resources/text", undefined]);
    assert.deepEqual(
      faults,
      Array.from({ length: 6 }, () => mine),
    );
  });

  it("is notified once of a change though it re-subscribes each time", () => {
    const source = registry({});
    let notified = 0;
    let undo = (): void => undefined;
    const again = (): void => {
      notified += 1;
      undo();
      if (notified < 10) undo = source.watch(viewer, again);
    };
    undo = source.watch(viewer, again);
    source.relist();
    assert.equal(notified, 1);
  });
});

describe("a handler that asks its client", () => {
  const source = registry({
    tools: {
      build: {
        describe: "Builds.",
        run(_args, { ask }) {
          const { sure, raw } = ask({
            sure: elicit("How high?", z.object({ floors: z.int() })),
            raw: { method: "roots/list", params: {} },
          });
          return { floors: sure.action === "accept" ? sure.content.floors : 0, raw };
        },
      },
    },
  });
  const build = (answers?: CallOptions["answers"]): Promise<Reply> =>
    source.act(viewer, "tools/build", {}, answers === undefined ? {} : { answers });

  it("asks with elicit and sample, or with raw MCP requests", async () => {
    const reply = await build({ raw: { roots: [] } });
    assert.ok("needs" in reply);
    assert.deepEqual(Object.keys(reply.needs), ["sure"]);
    assert.match(JSON.stringify(reply.needs), /"method":"elicitation\/create".*"message":"How high\?".*"floors"/);
  });

  it("gets the answers, parsed, and refused where they do not fit", async () => {
    const raw = { roots: [] };
    assert.deepEqual(await build({ raw, sure: { action: "accept", content: { floors: 2 } }, other: 1 }), { ok: { floors: 2, raw } });
    assert.deepEqual(await build({ raw, sure: { action: "decline" } }), { ok: { floors: 0, raw } });
    const refused = await build({ raw, sure: { action: "accept", content: { floors: "two" } } });
    assert.equal("refused" in refused && refused.refused.code, "INVALID");
  });
});

it("a change of one resource iterates over no watchers of others", () => {
  const notes = registry({ resources: Object.fromEntries(["a", "b"].map((name) => [name, { uri: `note://${name}`, read: () => name }])) });
  let looks = 0;
  const notified: string[] = [];
  const listen = (name: string): (() => void) =>
    notes.watch({ scopes: [] }, () => notified.push(name), {
      get ref() {
        looks += 1;
        return `resources/${name}` as const;
      },
      args: {},
    });
  const undo = ["a", "b", "b"].map(listen);
  const before = looks;
  notes.changed("a");
  notes.changed("b", {});
  assert.deepEqual(notified, ["a", "b", "b"]);
  for (const one of undo) one();
  notes.changed("b");
  assert.deepEqual([notified.length, looks - before], [3, 0]);
});

it("count and has follow additions and removals", () => {
  const tools = registry({ tools: { a: { run: () => "a" } }, prompts: { a: { get: () => "a" } } });
  const undo = tools.add({ tools: { b: { run: () => "b" }, c: { run: () => "c" } } });
  assert.throws(() => tools.add({ tools: { d: { run: () => "d" }, a: { run: () => "a" } } }), { code: "NAME_COLLISION" });
  assert.deepEqual([tools.count("tools"), tools.count("resources"), tools.count("prompts")], [3, 0, 1]);
  assert.deepEqual([tools.has("tools/b"), tools.has("tools/d"), tools.has("prompts/b")], [true, false, false]);
  tools.remove("tools/b");
  tools.remove("tools/b");
  undo();
  assert.deepEqual([tools.count("tools"), tools.has("tools/c"), tools.has("tools/a")], [1, false, true]);
});
