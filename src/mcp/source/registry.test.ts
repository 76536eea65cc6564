import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { elicit, refuse } from "../../core/actor/index.ts";
import type { CallOptions, Clock, OfferRef, Reply, Viewer } from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { type Complete, listed, registry } from "./index.ts";
import { act, example, names, viewer } from "../../../test/source/example.ts";
import * as z from "zod";

describe("registry", () => {
  it("checks arguments, with a schema's defaults, and shows a JSON Schema unchanged #sources.registry #spec.7.validation.tools", async () => {
    const { source } = example();
    assert.deepEqual(await act(source, "tools/add", { a: 2 }), { ok: 3 });
    const wrong = await act(source, "tools/add", { a: "2" });
    assert.ok("refused" in wrong && wrong.refused.code === "INVALID" && wrong.refused.message.startsWith("Invalid arguments: a: "));
    assert.deepEqual(await act(source, "tools/echo", {}), {
      refused: { code: "INVALID", message: "Invalid arguments: must have required property 'text'." },
    });
    const echo = listed(source.surface(viewer), "static").tools.find(({ name }) => name === "echo");
    assert.deepEqual(echo?.["inputSchema"], { type: "object", properties: { text: { type: "string" } }, required: ["text"] });
  });

  it("a thrown refusal refuses, a request needs answers, and any other throw is a fault without its message #sources.registry", async () => {
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

  it("law 3: an invalid `enabled` turns its own offer off, and is reported once", async () => {
    const faults: unknown[] = [];
    const gate = (enabled: () => unknown) => Object.assign({ work: () => "ran" }, { enabled: Object(enabled) });
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
        plain: { work: () => "ran" },
      },
      prompts: { broken: { enabled: Object(() => null), view: () => "messages" } },
    });
    assert.deepEqual(await names(source), ["fine", "plain"]);
    assert.deepEqual(listed(source.surface(viewer), "static").tools.length, 7);
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
    const slow = registry({ clock, tools: { slow: { work: () => new Promise(() => undefined) } } });
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

  it("reads resources by template, gets prompts, completes both #sources.registry #gateway.completion", async () => {
    const { source } = example();
    assert.deepEqual(await act(source, "resources/user", { id: "7" }), { ok: { id: "7" } });
    assert.deepEqual(await act(source, "prompts/greet", { name: "Bo" }), { ok: "Hello Bo." });
    assert.ok("refused" in (await act(source, "prompts/greet", {})));
    assert.deepEqual(await source.complete?.(viewer, "resources/user", "id", "1", {}), ["1", "12"]);
    assert.deepEqual(await source.complete?.(viewer, "prompts/greet", "name", "", {}), ["Ana"]);
    assert.deepEqual(await source.complete?.(viewer, "prompts/greet", "other", "", {}), []);
  });

  it("suggests nothing where `complete` refuses or gives no texts, and limits its time", async () => {
    const clock = new SimulatedClock();
    const faults: string[] = [];
    const complete: Readonly<Record<string, Complete>> = {
      refuses: () => refuse("Not for you."),
      numbers: Object(() => [1, null]),
      text: Object(() => "abc"),
      hangs: () => new Promise(() => undefined),
      throws() {
        throw new RangeError("Odd.");
      },
    };
    const args = Object.keys(complete).map((name) => ({ name }));
    const source = registry({
      clock,
      timeoutMs: 1_000,
      onFault: (error) => faults.push(String(error)),
      prompts: { ask: { arguments: args, complete, view: () => "" } },
    });
    const suggested = async (argument: string): Promise<unknown> => source.complete?.(viewer, "prompts/ask", argument, "", {});
    for (const argument of ["refuses", "numbers", "text"]) assert.deepEqual(await suggested(argument), [], argument);
    await assert.rejects(suggested("throws"), /Odd/);
    const hangs = assert.rejects(suggested("hangs"), { code: "WORK_TIMEOUT" });
    await clock.advance(1_000);
    await hangs;
    assert.deepEqual(faults, [
      "TroupeError: What completes numbers of prompts/ask gave a list that holds a number, which no client can read: return a list of texts.",
      "TroupeError: What completes text of prompts/ask gave text, which no client can read: return a list of texts.",
      "EngineError: What completes hangs of prompts/ask took longer than 1 s.",
    ]);
  });

  it("adds and removes at run time, and notifies watchers #sources.registry", async () => {
    const { source } = example();
    const flags: (OfferRef | undefined)[] = [];
    const undo = source.watch(viewer, (ref) => flags.push(ref));
    const only: (OfferRef | undefined)[] = [];
    const undoOnly = source.watch(viewer, (ref) => only.push(ref), { ref: "resources/user", args: { id: "1" } });
    const lists: (OfferRef | undefined)[] = [];
    const undoLists = source.watch(viewer, (ref) => lists.push(ref), undefined, false);
    const before = source.surface(viewer);
    const drop = source.add({ tools: { extra: { work: () => "x" } } });
    assert.notEqual(source.surface(viewer).catalogue, before.catalogue);
    assert.deepEqual(await act(source, "tools/extra"), { ok: "x" });
    assert.throws(() => source.add({ tools: { extra: { work: () => "y" } } }), { code: "NAME_COLLISION" });
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
    for (const name of ["b", "2", "a", "1"]) source.add({ tools: { [name]: { work: () => name } } });
    const [b] = source.surface(viewer).catalogue.tools;
    source.remove("tools/2");
    source.add({ tools: { "2": { work: () => "again" } } });
    assert.deepEqual(await names(source), ["b", "a", "1", "2"]);
    assert.equal(source.surface(viewer).catalogue.tools[0], b);
  });

  it("undo removes what was added, not a later offer of the same name", async () => {
    const source = registry({});
    const undo = source.add({ tools: { a: { work: () => 1 }, b: { work: () => 1 } } });
    source.remove("tools/a");
    source.add({ tools: { a: { work: () => 2 } } });
    let notified = 0;
    source.watch(viewer, () => (notified += 1));
    undo();
    undo();
    assert.deepEqual(await names(source), ["a"]);
    assert.equal(notified, 1);
  });

  it("adds all or nothing, and frees the URIs of removed resources", () => {
    const source = registry({ resources: { a: { uri: "x://a", view: () => 1 } } });
    assert.throws(() => source.add({ tools: { t: { work: () => 1 } }, resources: { b: { uri: "x://a", view: () => 1 } } }), {
      code: "NAME_COLLISION",
      message: /resources\/a and resources\/b have the same URI x:\/\/a/,
    });
    assert.deepEqual(source.surface(viewer).catalogue.tools, []);
    source.remove("resources/a");
    source.add({ resources: { b: { uri: "x://a", view: () => 1 } } });
  });

  it("refuses bad names and two resources of one URI, and has no chain", () => {
    assert.throws(() => registry({ tools: { "a b": { work: () => 1 } } }), { code: "BAD_NAME" });
    assert.throws(() => registry({ tools: { "a.b": { work: () => 1 } } }), { code: "BAD_NAME", message: /--names dots/ });
    registry({ names: "dots", tools: { "a.b": { work: () => 1 } } });
    const same = { uri: "x://a", view: () => 1 };
    assert.throws(() => registry({ resources: { a: same, b: same } }), { code: "NAME_COLLISION" });
    assert.equal(example().source.chain, undefined);
  });
});

describe("C8 a watcher of a registry", () => {
  it("is notified though another one throws or rejects", async () => {
    const mine = new Error("mine");
    const faults: unknown[] = [];
    const source = registry({ resources: { text: { uri: "t://t", view: () => "t" } }, onFault: (error) => void faults.push(error) });
    const rejects = (): unknown => Promise.reject(mine);
    source.watch(viewer, () => {
      throw mine;
    });
    source.watch(viewer, rejects);
    const notified: unknown[] = [];
    source.watch(viewer, (ref) => notified.push(ref));
    source.add({ tools: { more: { work: () => null } } });
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
        description: "Builds.",
        work({ ask }) {
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

it("C8 a change of a resource is notified to no watcher it is hidden from now", () => {
  let hidden = true;
  const enabled = ({ viewer: { principal } }: { viewer: Viewer }): boolean => !hidden || principal === "ann";
  const notes = registry({ resources: { note: { uri: "note://1", enabled, view: () => "" } } });
  const heard: string[] = [];
  for (const principal of ["ann", "bob"]) {
    const whose = { principal, scopes: [] };
    notes.watch(whose, () => void heard.push(principal), { ref: "resources/note", args: {} });
    notes.watch(whose, (ref) => void heard.push(`${principal}: ${String(ref)}`));
  }
  notes.changed("note");
  assert.deepEqual(heard.splice(0), ["ann: resources/note", "ann"]);
  hidden = false;
  notes.changed("note", {});
  assert.deepEqual(heard, ["ann: resources/note", "bob: resources/note", "ann", "bob"]);
});

it("a change of one resource iterates over no watchers of others", () => {
  const notes = registry({ resources: Object.fromEntries(["a", "b"].map((name) => [name, { uri: `note://${name}`, view: () => name }])) });
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
  const tools = registry({ tools: { a: { work: () => "a" } }, prompts: { a: { view: () => "a" } } });
  const undo = tools.add({ tools: { b: { work: () => "b" }, c: { work: () => "c" } } });
  assert.throws(() => tools.add({ tools: { d: { work: () => "d" }, a: { work: () => "a" } } }), { code: "NAME_COLLISION" });
  assert.deepEqual([tools.count("tools"), tools.count("resources"), tools.count("prompts")], [3, 0, 1]);
  assert.deepEqual([tools.has("tools/b"), tools.has("tools/d"), tools.has("prompts/b")], [true, false, false]);
  tools.remove("tools/b");
  tools.remove("tools/b");
  undo();
  assert.deepEqual([tools.count("tools"), tools.has("tools/c"), tools.has("tools/a")], [1, false, true]);
});
