import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type CallOptions, CONTENT, type TroupeError } from "../../core/contract/index.ts";
import { listed } from "../../mcp/source/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { fromAgenticService } from "./index.ts";
import { act, action, FakeService, okOf, toolNames, viewer } from "./service.fixture.ts";

const codeOf = (error: unknown): unknown => (typeof error === "object" && error !== null && "code" in error ? error.code : error);

describe("actions of a service", () => {
  it("take titles, annotations and `hidden` from the options #agentic.actions.options", async () => {
    const annotations = { readOnlyHint: true, title: "Look" };
    using source = fromAgenticService(new FakeService({ actions: { look: action(), secret: action(), plain: action() } }), {
      actions: { look: { title: "Look around", annotations }, secret: { hidden: true } },
    });
    assert.deepEqual(listed(await source.surface(viewer), "dynamic").tools[0], {
      name: "look",
      title: "Look around",
      description: "Does it.",
      inputSchema: { type: "object", properties: {}, additionalProperties: false },
      annotations,
    });
    assert.deepEqual(await toolNames(source), ["look", "plain"]);
    const hidden = await act(source, "tools/secret");
    assert.deepEqual(hidden, await act(source, "tools/never"), "law 3");
  });

  it("are confirmed by the user first, if the option says so and the client can ask #agentic.actions.options", async () => {
    const service = new FakeService({ actions: { wipe: action([{ type: "object", properties: { all: { type: "boolean" } } }]) } });
    const confirm = (args: Readonly<Record<string, unknown>>): string | undefined => (args["all"] === true ? "Wipe all?" : undefined);
    using source = fromAgenticService(service, { actions: { wipe: { confirm } } });
    const call = (all: boolean, options: CallOptions): ReturnType<typeof act> => source.act(viewer, "tools/wipe", { all }, options);
    const can = ["elicitation"];
    const question = await call(true, { can });
    assert.ok("needs" in question);
    assert.match(JSON.stringify(question.needs["confirm"]), /elicitation\/create.*Wipe all\?/);
    assert.equal(service.calls.length, 0);
    const answering = (content: object) => ({ can, answers: { confirm: { action: "accept", content: { ...content } } } });
    for (const answers of [{ confirm: { action: "decline" } }, { confirm: 7 }, answering({ confirm: false }).answers]) {
      const reply = await call(true, { can, answers });
      assert.ok("refused" in reply && reply.refused.code === "NOT_CONFIRMED");
    }
    assert.equal(service.calls.length, 0);
    assert.ok("ok" in (await call(true, answering({ confirm: true }))));
    assert.ok("ok" in (await call(false, { can })));
    assert.ok("ok" in (await call(true, {})), "a client that cannot be question has its own way");
    assert.equal(service.calls.length, 3);
  });

  it("take an object as it is, a scalar by its title, several by title, or by number where titles repeat #agentic.actions.tools #agentic.call.spread", async () => {
    const heard: unknown[][] = [];
    const several = action(
      [{ title: "x", type: "number" }, { title: "x", type: "string" }, { title: "a b" }, { title: "arg1", default: 9 }],
      (...input) => {
        heard.push([...input]);
      },
    );
    const only = { type: "object", properties: { to: { type: "string" } }, required: ["to"] };
    const service = new FakeService({
      actions: { several, object: action([only]), scalar: action([{ type: "string" }]), nothing: action() },
    });
    using source = fromAgenticService(service);
    const schemas = Object.fromEntries(
      listed(await source.surface(viewer), "dynamic").tools.map(({ name, inputSchema }) => [name, inputSchema]),
    );
    assert.deepEqual(schemas["object"], only);
    assert.deepEqual(schemas["scalar"], {
      type: "object",
      properties: { input: { type: "string" } },
      required: ["input"],
      additionalProperties: false,
    });
    assert.deepEqual(schemas["nothing"], { type: "object", properties: {}, additionalProperties: false });
    await act(source, "tools/several", { arg1_: "b", arg2: null, x: 1 });
    assert.deepEqual(heard, [[1, "b", null, 9]]);
    await act(source, "tools/object", { to: "north" });
    await act(source, "tools/scalar", { input: "north" });
    await act(source, "tools/nothing");
    assert.deepEqual(service.calls, [
      ["object", { to: "north" }],
      ["scalar", "north"],
      ["nothing", undefined],
    ]);
  });

  it("are listed with their new schema when it was changed in place", async () => {
    const first: unknown = { title: "cell", enum: [0, 1] };
    const move = { ...action(), parameters: [first] };
    const service = new FakeService({ actions: { move } });
    using source = fromAgenticService(service);
    assert.ok("refused" in (await act(source, "tools/move", { cell: 2 })));
    for (const change of [() => (move.parameters = [{ title: "cell", enum: [2] }]), () => (move.parameters[0] = { title: "cell" })]) {
      change();
      service.observables.actions.set({ move });
      assert.ok("ok" in (await act(source, "tools/move", { cell: 2 })));
    }
    move.parameters.push({ title: "by" });
    service.observables.actions.set({ move });
    assert.deepEqual(await act(source, "tools/move", { cell: 2 }), {
      refused: { code: "INVALID", message: "must have required property 'by'" },
    });
  });

  it("get Blobs for base64 where the schema says `blob`, and are refused other text", async () => {
    const file = { title: "file", type: "blob", mediaType: "image/png" };
    const album = {
      type: "object",
      properties: { pages: { type: "array", items: file }, name: { type: "string" }, ends: { items: [{ type: "string" }, file] } },
      additionalProperties: { type: "blob" },
    };
    const heard: unknown[][] = [];
    const both = action([{ title: "name" }, { ...file, default: "" }], (...input) => void heard.push([...input]));
    const service = new FakeService({ actions: { one: action([file]), album: action([album]), both } });
    using source = fromAgenticService(service, { actions: { one: { confirm: () => assert.fail("The question is unnecessary.") } } });
    const texts = async (value: unknown): Promise<unknown> => {
      if (value instanceof Blob) return `${value.type}: ${await value.text()}`;
      if (Array.isArray(value)) return Promise.all(value.map(texts));
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(await Promise.all(Object.entries(value).map(async ([key, one]) => [key, await texts(one)])));
    };
    await act(source, "tools/one", { file: "aGk=" });
    await act(source, "tools/album", { pages: ["aGk=", "aG8="], name: "aGk=", ends: ["aGk=", "aGk=", "aGk="], cover: "aGk=" });
    assert.deepEqual(await texts(service.calls), [
      ["one", "image/png: hi"],
      ["album", { pages: ["image/png: hi", "image/png: ho"], name: "aGk=", ends: ["aGk=", "image/png: hi", "aGk="], cover: ": hi" }],
    ]);
    await act(source, "tools/both", { name: "x", file: "aGk=" });
    assert.deepEqual(await texts(heard), [["x", "image/png: hi"]]);
    const wrong = (message: string) => ({ refused: { code: "INVALID", message } });
    assert.deepEqual(await act(source, "tools/album", { pages: ["aGk=", "!"] }), wrong("pages/1 must be base64"));
    const question = source.act(viewer, "tools/one", { file: "!" }, { can: ["elicitation"] });
    assert.deepEqual(await question, wrong("file must be base64"));
    assert.equal(service.calls.length, 2);
  });

  it("refuse every choice while there is none", async () => {
    const attack = action([{ type: "object", properties: { target: { type: "string", enum: [] }, shout: { type: "string" } } }]);
    using source = fromAgenticService(new FakeService({ actions: { attack } }));
    assert.deepEqual(await act(source, "tools/attack", { target: "wolf" }), {
      refused: { code: "INVALID", message: "target must NOT be valid" },
    });
    assert.ok("ok" in (await act(source, "tools/attack", { shout: "Hey" })));
  });

  it("preserve references within a schema that is wrapped #agentic.actions.tools", async () => {
    const tree = { title: "tree", $defs: { node: { type: "object", required: ["id"] } }, type: "array", items: { $ref: "#/$defs/node" } };
    const named = (type: string) => ({ $defs: { it: { $anchor: "it", type } }, items: { $ref: "#it" } });
    const lost = { type: "object", properties: { x: { $ref: "#/nowhere" } } };
    const actions = { plant: action([tree]), two: action([named("number"), named("string")]), lost: action([lost]) };
    using source = fromAgenticService(new FakeService({ actions }));
    assert.ok("ok" in (await act(source, "tools/plant", { tree: [{ id: 1 }] })));
    assert.ok("refused" in (await act(source, "tools/plant", { tree: [{}] })));
    assert.ok("ok" in (await act(source, "tools/two", { arg0: [1], arg1: ["a"] })));
    assert.ok("refused" in (await act(source, "tools/two", { arg0: [1], arg1: [1] })));
    assert.ok("ok" in (await act(source, "tools/lost", { x: 1 })), "what is not known is not checked");
  });

  it("return nothing, an error as text, or data; by option, text is data #agentic.call.outcomes #agentic.surface.execute", async () => {
    const service = new FakeService({ actions: { go: action() } });
    using source = fromAgenticService(service);
    using lenient = fromAgenticService(service, { text: "data" });
    service.answer = () => "No.";
    assert.deepEqual(await act(source, "tools/go"), { refused: { code: "REFUSED", message: "No." } });
    const long = "No. ".repeat(5_000);
    service.answer = () => long;
    assert.deepEqual(await act(source, "tools/go"), { refused: { code: "REFUSED", message: long } });
    service.answer = () => "No.";
    assert.deepEqual(await act(lenient, "tools/go"), { ok: "No." });
    service.answer = () => ({ found: new Float64Array([1]) });
    assert.deepEqual(await act(source, "tools/go"), { ok: { found: [1] } });
    service.answer = () => null;
    assert.deepEqual(await act(source, "tools/go"), { ok: { [CONTENT]: [{ type: "text", text: "null" }], structured: null } });
    service.answer = () =>
      new Map<unknown, unknown>([
        [{ x: 1 }, "a"],
        [{ x: 2 }, undefined],
        [1, () => 1],
        ["1", [2]],
      ]);
    assert.deepEqual(okOf(await act(source, "tools/go")), [
      [{ x: 1 }, "a"],
      [{ x: 2 }, null],
      [1, null],
      ["1", [2]],
    ]);
    service.answer = () => new Map([["1", 2]]);
    assert.deepEqual(okOf(await act(source, "tools/go")), { 1: 2 });
  });

  it("return bytes as an image, audio or resource block, and base64 within other data", async () => {
    const service = new FakeService({ actions: { go: action() }, states: { x: { value: 1 } } });
    using root = fromAgenticService(new FakeService({ links: { pen: service } }), { name: "desk" });
    const go = async (answer: unknown) => {
      service.answer = () => answer;
      return okOf(await act(root, "tools/pen.go"));
    };
    const data = "AQI=";
    const bytes = new Uint8Array([1, 2]);
    const resource = (mimeType: string) => ({
      [CONTENT]: [{ type: "resource", resource: { uri: "mcp://desk/pen/result/go", mimeType, blob: data } }],
    });
    assert.deepEqual(await go(new Blob([bytes], { type: "image/png" })), { [CONTENT]: [{ type: "image", data, mimeType: "image/png" }] });
    assert.deepEqual(await go(new Blob([bytes], { type: "audio/wav" })), { [CONTENT]: [{ type: "audio", data, mimeType: "audio/wav" }] });
    assert.deepEqual(await go(new Blob([bytes], { type: "application/pdf" })), resource("application/pdf"));
    assert.deepEqual(await go(bytes.buffer), resource("application/octet-stream"));
    const page = { title: "One", at: new Map([["pen", [new Blob([bytes]), { ink: new Blob([]) }]]]), none: null };
    assert.deepEqual(await go(page), { title: "One", at: { pen: [data, { ink: "" }] }, none: null });
    service.answer = () => {
      service.observables.states.set({ x: { value: { icon: new Blob([bytes]) } } });
      return new Blob([bytes], { type: "image/png" });
    };
    using telling = fromAgenticService(service, { changedStates: true });
    const structured = { changed: { x: { icon: data } } };
    assert.deepEqual(okOf(await act(telling, "tools/go")), {
      [CONTENT]: [
        { type: "image", data, mimeType: "image/png" },
        { type: "text", text: JSON.stringify(structured) },
      ],
      structured,
    });
  });

  it("report the states that changed, if the option says so #agentic.call.changed", async () => {
    const service = new FakeService({ states: { x: { value: 1 }, y: { value: 1 }, z: { value: 1 } }, actions: { go: action() } });
    using source = fromAgenticService(service, { changedStates: true, pageLength: 50 });
    service.answer = () => {
      service.observables.states.set({ x: { value: 2 }, y: { value: 1 }, w: { value: "w".repeat(100) } });
      return undefined;
    };
    assert.deepEqual(okOf(await act(source, "tools/go")), { changed: { x: 2 }, large: ["w"], gone: ["z"] });
    assert.deepEqual(okOf(await act(source, "tools/go")), { changed: {} });
    service.answer = () => ({ score: 3 });
    assert.deepEqual(okOf(await act(source, "tools/go")), { result: { score: 3 }, changed: {} });
    for (const result of [{ isError: false, value: 3 }, null, false]) {
      service.answer = () => result;
      assert.deepEqual(okOf(await act(source, "tools/go")), { result, changed: {} });
    }
  });

  it("law 3: do not run if they were removed before the call arrived", async () => {
    const service = new FakeService({ actions: { go: action() } });
    using source = fromAgenticService(service);
    const reply = act(source, "tools/go");
    service.observables.actions.set({});
    assert.ok("refused" in (await reply));
    assert.equal(service.calls.length, 0);
  });

  it("fail with the bounded message of what they throw, and can be called again #agentic.call.throws", async () => {
    const service = new FakeService({ actions: { go: action(), both: action([{}, {}], () => Promise.reject(new Error("Both failed."))) } });
    using source = fromAgenticService(service);
    const thrown: readonly (readonly [unknown, string])[] = [
      [new TypeError("Bad hand."), "Bad hand."],
      ["Just text.", "Just text."],
      [new Error(""), "tools/go failed without saying why."],
      [{ odd: true }, "tools/go failed without saying why."],
      [new Error("x".repeat(9_999)), "x".repeat(4_096)],
    ];
    for (const [what, message] of thrown) {
      service.answer = () => {
        throw what;
      };
      await assert.rejects(act(source, "tools/go"), { code: "CRASHED", message });
    }
    await assert.rejects(act(source, "tools/both", { arg0: 1, arg1: 2 }), { message: "Both failed." });
    service.answer = () => 1;
    assert.equal(okOf(await act(source, "tools/go")), 1);
  });

  it("fail with the message of what their result or question throws", async () => {
    const service = new FakeService({ actions: { go: action() } });
    const confirm = (): string => {
      throw new Error("Cannot ask.");
    };
    using source = fromAgenticService(service, { actions: { go: { confirm } } });
    await assert.rejects(source.act(viewer, "tools/go", {}, { can: ["elicitation"] }), { code: "CRASHED", message: "Cannot ask." });
    assert.equal(service.calls.length, 0);
    const lazy = (): never => {
      throw new Error("Not loaded.");
    };
    for (const answer of [{ toJSON: lazy }, Object.defineProperty({}, "x", { enumerable: true, get: lazy })]) {
      service.answer = () => answer;
      await assert.rejects(act(source, "tools/go"), { code: "CRASHED", message: "Not loaded.", applied: "unknown" });
    }
    service.answer = () => ({ toJSON: () => Array.from({ length: 1_000_001 }) });
    await assert.rejects(act(source, "tools/go"), { code: "STATE_TOO_LARGE", applied: "unknown" });
  });

  it("time out, or are cancelled when the caller disconnects #agentic.call.bounded", async () => {
    const clock = new SimulatedClock();
    const service = new FakeService({ actions: { go: action() } });
    service.answer = () => new Promise(() => undefined);
    using source = fromAgenticService(service, { clock, callMs: 500 });
    const timedOut = act(source, "tools/go").catch(codeOf);
    await clock.advance(500);
    assert.equal(await timedOut, "WORK_TIMEOUT");
    const leaving = new AbortController();
    const left = source.act(viewer, "tools/go", {}, { signal: leaving.signal }).catch((error: TroupeError) => [error.code, codeOf(error)]);
    await clock.advance(1);
    leaving.abort();
    assert.deepEqual(await left, ["CANCELLED", "CANCELLED"]);
    await assert.rejects(source.act(viewer, "tools/go", {}, { signal: leaving.signal }), { code: "CANCELLED" });
    assert.equal(service.calls.length, 2);
    assert.equal(clock.pending, 0);
  });
});
