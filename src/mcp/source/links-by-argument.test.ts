import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { actor } from "../../core/actor/index.ts";
import type { Behaviour, CallOptions, JsonObject, OfferRef, Reply, Source, Viewer } from "../../core/contract/index.ts";
import { FakeEngine } from "../../../test/source/fake-engine.ts";
import { listen, quiet } from "../../../test/source/world.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { BEGIN_ACTION } from "../../core/contract/internal.ts";
import { memoryStore } from "../../core/store/index.ts";
import { Acting } from "./cast.ts";
import { cast, type CastOptions, listed, meta } from "./index.ts";
import * as z from "zod";

const notes = z.object({ notes: z.array(z.string()).default([]), open: z.boolean().default(true), secret: z.boolean().default(false) });

const incident = actor("incident", {
  description: "An incident.",
  per: "link",
  state: notes,
  tools: {
    comment: {
      description: "Adds a note.",
      input: z.object({ text: z.string() }),
      run({ state, args }) {
        state.notes.push(args.text);
        return state.notes.length;
      },
    },
    close: {
      description: "Closes it.",
      enabled: ({ state }) => state.open || "It is closed already.",
      run({ state }) {
        state.open = false;
        return "Closed.";
      },
    },
    reveal: { description: "Only of a secret incident.", enabled: ({ state }) => state.secret, run: () => "Revealed." },
    read: { description: "Reads the notes.", view: ({ state }) => state.notes.join() },
    purge: { description: "Deletes all notes.", scopes: ["admin"], run: ({ state }) => void (state.notes = []) },
  },
  resources: {
    state: { uri: "incident://{alias}/state", view: ({ state }) => state },
    note: {
      uri: "incident://{alias}/notes/{at}",
      choices: { at: ({ state }) => state.notes.map((_, at) => String(at)) },
      view: ({ state, args }) => state.notes[Number(args.at)] ?? "none",
    },
    fixed: { uri: "summary:all", view: ({ state }) => `${state.notes.length} notes` },
  },
  prompts: {
    review: {
      description: "Reviews it.",
      arguments: [{ name: "tone" }],
      view: ({ state, args }) => `${args["tone"] ?? "Kindly"}: ${state.notes.join()}`,
    },
  },
});

const responder = actor("responder", {
  description: "Handles incidents.",
  per: "user",
  state: z.object({ known: z.array(z.string()).default(["INC-1", "INC-2"]), duty: z.boolean().default(true) }),
  links: {
    incident: {
      kind: incident,
      enabled: ({ state }) => state.duty || "You are not on duty.",
      choices: ({ state }) => state.known,
    },
  },
  tools: {
    learn: {
      description: "Adds an incident.",
      input: z.object({ key: z.string() }),
      run: ({ state, args }) => void state.known.push(args.key),
    },
    leave: { description: "Goes off duty.", run: ({ state }) => void (state.duty = false) },
    hide: { description: "Forgets all.", run: ({ state }) => void (state.known = []) },
  },
});

const ana: Viewer = { principal: "ana", scopes: [] };
const bob: Viewer = { principal: "bob", scopes: [] };

function serve(
  kinds: readonly Behaviour[] = [responder, incident],
  options: Partial<CastOptions> = {},
): { readonly engine: FakeEngine; readonly source: Source } {
  const engine = new FakeEngine(kinds);
  for (const key of ["INC-1", "INC-2", "INC-3"]) engine.put(`incident/${key}`, { notes: [], open: true, secret: false });
  return { engine, source: cast({ engine, kinds, ...options }) };
}

const act = (source: Source, viewer: Viewer, ref: OfferRef, args: JsonObject = {}, options: CallOptions = {}): Promise<Reply> =>
  source.act(viewer, ref, args, options);

const code = (reply: Reply): string => ("refused" in reply ? reply.refused.code : "ok");

async function names(source: Source, listMode: "dynamic" | "static" = "dynamic"): Promise<readonly string[]> {
  return listed(await source.surface(ana), listMode).tools.map(({ name }) => name);
}

async function inputOf(source: Source, name: string, listMode: "dynamic" | "static" = "dynamic", viewer = ana): Promise<unknown> {
  return listed(await source.surface(viewer), listMode).tools.find((tool) => tool.name === name)?.["inputSchema"];
}

const noActor: Reply = { refused: { code: "NO_ACTOR", message: "There is no incident of this key." } };

/** A kind of `per: "user"` with one link. */
const linker = (link: object): Behaviour =>
  actor("linker", { description: "Links.", per: "user", state: z.object({}), links: { incident: Object(link) } });

describe("links by argument: lists", () => {
  it("lists each tool with the key as a required argument, without reading any target", async () => {
    const { source, engine } = serve();
    engine.reads = 0;
    assert.deepEqual(await names(source), [
      "learn",
      "leave",
      "hide",
      ...["comment", "close", "reveal", "read", "purge"].map((name) => `incident__${name}`),
    ]);
    assert.equal(engine.reads, 1);
    assert.deepEqual(await inputOf(source, "incident__comment", "static"), {
      type: "object",
      properties: { incident: { type: "string", description: "Which incident: its key." }, text: { type: "string" } },
      required: ["incident", "text"],
    });
    const dotted = serve([responder, incident], { names: "dots" });
    assert.ok((await names(dotted.source)).includes("incident.comment"));
  });

  it("dynamic lists have up to 50 choices as an enum, static lists none", async () => {
    const { source, engine } = serve();
    const keyIn = async (listMode: "dynamic" | "static"): Promise<unknown> =>
      Object(await inputOf(source, "incident__comment", listMode)).properties.incident;
    assert.deepEqual(await keyIn("dynamic"), { type: "string", description: "Which incident: its key.", enum: ["INC-1", "INC-2"] });
    assert.deepEqual(await keyIn("static"), { type: "string", description: "Which incident: its key." });
    engine.put("responder/ana", { known: Array.from({ length: 51 }, (_, at) => `INC-${at}`), duty: true });
    assert.deepEqual(await keyIn("dynamic"), { type: "string", description: "Which incident: its key." });
  });

  it("resources are templates with the key, prompts have it as an argument", async () => {
    const { source } = serve();
    const { resources, resourceTemplates, prompts } = listed(await source.surface(ana), "static");
    assert.deepEqual(resources, []);
    assert.deepEqual(
      resourceTemplates.map(({ uriTemplate }) => uriTemplate),
      ["incident://{incident}/state", "incident://{incident}/notes/{at}", "summary:{incident}/all"],
    );
    assert.deepEqual(prompts[0]?.["arguments"], [
      { name: "incident", description: "Which incident: its key.", required: true },
      { name: "tone" },
    ]);
  });

  it("a link that is off gives its reason, in lists and calls; a hidden one is unknown", async () => {
    const { source } = serve();
    await act(source, ana, "tools/leave");
    assert.deepEqual(await names(source), ["learn", "leave", "hide"]);
    assert.equal((await source.surface(ana)).off["tools/incident__comment"], "You are not on duty.");
    const why: Reply = { refused: { code: "NOT_NOW", message: "You are not on duty." } };
    assert.deepEqual(await act(source, ana, "tools/incident__comment", { incident: "INC-1", text: "x" }), why);
    assert.deepEqual(await act(source, ana, "resources/incident__state", { incident: "INC-1" }), why);
    const hidden = serve([linker({ kind: incident, enabled: () => false }), incident]).source;
    assert.deepEqual(await names(hidden, "static"), []);
    assert.equal(code(await act(hidden, ana, "tools/incident__comment", { incident: "INC-1", text: "x" })), "UNKNOWN");
  });

  it("`by` names the argument, and the prefix may be empty", async () => {
    const kind = actor("boss", {
      description: "Sees all.",
      per: "user",
      state: z.object({}),
      links: { "": { kind: "incident", by: "number" } },
    });
    const { source, engine } = serve([kind, incident]);
    assert.ok((await names(source)).includes("comment"));
    assert.deepEqual(await act(source, ana, "tools/comment", { number: "INC-3", text: "x" }), { ok: 1 });
    assert.deepEqual(Object(engine.actors.get("incident/INC-3")?.state).notes, ["x"]);
    assert.equal(listed(await source.surface(ana), "static").resourceTemplates[0]?.["uriTemplate"], "incident://{number}/state");
  });

  it("refuses an argument that an offer has itself, naming both, and two links of one argument on a way", () => {
    const clash = (own: object): Behaviour => actor("incident", { description: "Clashes.", per: "link", state: z.object({}), ...own });
    const wrong = (kinds: readonly Behaviour[], message: RegExp): void =>
      assert.throws(() => serve(kinds), { code: "BAD_DEFINITION", message });
    const link = linker({ kind: "incident" });
    const input = z.object({ incident: z.string() });
    const words = (offer: string): RegExp =>
      new RegExp(`^incident: ${offer} has an argument \`incident\`.*rename it, or name the link's argument with \`by\``);
    wrong([link, clash({ tools: { a: { description: "A.", input, run: () => 1 } } })], words("tools/a"));
    const either = z.union([z.object({ text: z.string() }), input]);
    wrong([link, clash({ tools: { a: { description: "A.", input: either, run: () => 1 } } })], words("tools/a"));
    wrong([link, clash({ resources: { a: { uri: "a://{incident}", view: () => 1 } } })], words("resources/a"));
    wrong([link, clash({ prompts: { a: { description: "A.", input, view: () => "" } } })], words("prompts/a"));
    const deeper = actor("case", {
      description: "A case.",
      per: "link",
      state: z.object({}),
      links: { sub: { kind: "ward", by: "incident" } },
    });
    const ward = actor("ward", { description: "A ward.", per: "link", state: z.object({}) });
    wrong([linker({ kind: "case", by: "incident" }), deeper, ward], /^case: the argument `incident` of the link "sub" already says/);
  });
});

describe("links by argument: calls", () => {
  it("reach the actor of the key, without the key among their arguments", async () => {
    const { source, engine } = serve();
    assert.deepEqual(await act(source, ana, "tools/incident__comment", { incident: "INC-2", text: "x" }), { ok: 1 });
    const { message } = engine.calls.at(-1) ?? {};
    assert.deepEqual([message?.to, message?.args, message?.viewer?.self], ["incident/INC-2", { text: "x" }, "responder/ana"]);
    assert.deepEqual(await act(source, ana, "tools/incident__read", { incident: "INC-2" }), { ok: "x" });
    assert.deepEqual(await act(source, ana, "tools/incident__read", { incident: "INC-1" }), { ok: "" });
    assert.deepEqual(await act(source, ana, "resources/incident__fixed", { incident: "INC-2" }), { ok: "1 notes" });
    assert.deepEqual(await act(source, ana, "resources/incident__note", { incident: "INC-2", at: "0" }), { ok: "x" });
    const prompt = await act(source, ana, "prompts/incident__review", { incident: "INC-2", tone: "Sternly" });
    assert.match(JSON.stringify(prompt), /Sternly: x/);
  });

  it("are refused before the actor is reached where the key is missing, malformed or no choice", async () => {
    const { source, engine } = serve();
    const before = [engine.reads, engine.calls.length];
    for (const key of [undefined, "", 7, null, "x".repeat(257), "\ud800", ["INC-1"]]) {
      const reply = await act(source, ana, "tools/incident__comment", { text: "x", ...(key === undefined ? {} : { incident: key }) });
      assert.equal(code(reply), "INVALID", String(key));
      assert.match(JSON.stringify(reply), /Invalid arguments: incident: must be text of 1 to 256 bytes/);
    }
    assert.deepEqual([engine.reads, engine.calls.length], before);
    for (const ref of ["tools/incident__comment", "tools/incident__read", "prompts/incident__review"] as const)
      assert.deepEqual(await act(source, ana, ref, { incident: "INC-3", text: "x" }), {
        refused: { code: "INVALID", message: 'Invalid arguments: incident: must be one of "INC-1", "INC-2".' },
      });
    assert.equal(code(await act(source, ana, "resources/incident__state", { incident: "INC-3" })), "UNKNOWN");
    assert.ok(engine.calls.every(({ message }) => !message.to.startsWith("incident/")));
    await act(source, ana, "tools/hide");
    const none = await act(source, ana, "tools/incident__comment", { incident: "INC-1", text: "x" });
    assert.match(JSON.stringify(none), /there is nothing to choose from now/);
  });

  it("law 3: the target's own reasons are decided in its turn", async () => {
    const { source } = serve();
    assert.deepEqual(await act(source, ana, "tools/incident__close", { incident: "INC-1" }), { ok: "Closed." });
    assert.deepEqual(await act(source, ana, "tools/incident__close", { incident: "INC-1" }), {
      refused: { code: "NOT_NOW", message: "It is closed already." },
    });
    assert.deepEqual(await act(source, ana, "tools/incident__close", { incident: "INC-2" }), { ok: "Closed." });
    assert.equal(code(await act(source, ana, "tools/incident__reveal", { incident: "INC-2" })), "UNKNOWN");
  });

  it("an actor that does not exist answers like one that belongs to another viewer, and nothing starts", async () => {
    const { source, engine } = serve([linker({ kind: incident }), incident]);
    engine.put("incident/hers", { notes: [], open: true, secret: false }, "bob");
    for (const [key, viewer] of [
      ["hers", ana],
      ["none", ana],
      ["none", bob],
      ["ä/ö?", ana],
    ] as const) {
      assert.deepEqual(await act(source, viewer, "tools/incident__comment", { incident: key, text: "x" }), noActor);
      assert.deepEqual(await act(source, viewer, "tools/incident__read", { incident: key }), noActor);
      assert.equal(code(await act(source, viewer, "resources/incident__state", { incident: key })), "UNKNOWN");
    }
    // The caller's own actor starts with its first call that is not sure to be refused.
    assert.deepEqual(
      [...engine.actors.keys()].filter((id) => !id.startsWith("incident/INC")),
      ["incident/hers"],
    );
    assert.deepEqual(await act(source, bob, "tools/incident__comment", { incident: "hers", text: "x" }), { ok: 1 });
    assert.deepEqual(await act(source, ana, "tools/incident__comment", { incident: "INC-3", text: "x" }), { ok: 1 });
    assert.deepEqual(await act(source, ana, "tools/incident__comment", { incident: "none", text: "x" }), noActor);
    assert.equal(engine.actors.has("incident/none"), false);
  });

  it("a kind that begins on first use starts with the call", async () => {
    const place = { ...incident, autoStart: true };
    const { source, engine } = serve([linker({ kind: place }), place]);
    assert.deepEqual(await act(source, ana, "tools/incident__read", { incident: "new" }), { ok: "" });
    assert.equal(engine.actors.has("incident/new"), false);
    assert.deepEqual(await act(source, ana, "tools/incident__comment", { incident: "new", text: "x" }), { ok: 1 });
    assert.equal(engine.actors.has("incident/new"), true);
  });

  it("without choices only a user's own actor of a kind per user is addressed; with choices those among them", async () => {
    const person = actor("person", {
      description: "A person.",
      per: "user",
      state: z.object({}),
      tools: { wave: { description: "Waves.", run: ({ key }) => key } },
    });
    const open = (link: object): Behaviour =>
      actor("hub", { description: "A hub.", state: z.object({}), links: { person: Object({ kind: person, ...link }) } });
    const shut = serve([open({}), person]);
    shut.engine.put("person/bob", {});
    assert.deepEqual(await act(shut.source, ana, "tools/person__wave", { person: "ana" }), { ok: "ana" });
    assert.equal(code(await act(shut.source, ana, "tools/person__wave", { person: "bob" })), "NO_ACTOR");
    const chosen = serve([open({ choices: () => ["bob"] }), person]);
    chosen.engine.put("person/bob", {});
    assert.deepEqual(await act(chosen.source, ana, "tools/person__wave", { person: "bob" }), { ok: "bob" });
    assert.equal(code(await act(chosen.source, ana, "tools/person__wave", { person: "ana" })), "INVALID");
  });

  it("keys of several links on a way are all arguments, and links of a target follow it", async () => {
    const log = actor("log", {
      description: "A log.",
      per: "link",
      autoStart: true,
      state: z.object({ lines: z.number().default(0) }),
      tools: { write: { description: "Writes.", run: ({ state, key }) => `${key}: ${(state.lines += 1)}` } },
      resources: { lines: { uri: "log://{alias}/lines", view: ({ state }) => String(state.lines) } },
    });
    const team = actor("team", {
      description: "A team.",
      per: "link",
      autoStart: true,
      initial: ({ key }) => ({ key }),
      links: {
        board: { kind: log, to: ({ state }) => log.id(`board of ${state.key}`) },
        log: { kind: log, choices: ({ state }) => [`${state.key}-1`, `${state.key}-2`] },
      },
    });
    const root = actor("root", { description: "Root.", per: "user", state: z.object({}), links: { team: { kind: team } } });
    const { source } = serve([root, team, log]);
    assert.deepEqual(await names(source), ["team__board__write", "team__log__write"]);
    assert.deepEqual(await act(source, ana, "tools/team__board__write", { team: "red" }), { ok: "board of red: 1" });
    assert.deepEqual(await act(source, ana, "tools/team__log__write", { team: "red", log: "red-2" }), { ok: "red-2: 1" });
    assert.equal(code(await act(source, ana, "tools/team__log__write", { team: "blue", log: "red-2" })), "INVALID");
    assert.deepEqual(
      listed(await source.surface(ana), "static").resourceTemplates.map(({ uriTemplate }) => uriTemplate),
      ["log://{team}/lines", "log://{team}/{log}/lines"],
    );
    assert.deepEqual(await source.complete?.(ana, "resources/team__log__lines", "log", "", { team: "blue" }), ["blue-1", "blue-2"]);
  });
});

describe("links by argument: completion, subscriptions, scopes", () => {
  it("completes the key from the choices, also of more than a list has, and the target's own arguments", async () => {
    const { source, engine } = serve();
    await act(source, ana, "tools/incident__comment", { incident: "INC-2", text: "x" });
    assert.deepEqual(await source.complete?.(ana, "resources/incident__note", "at", "", { incident: "INC-2" }), ["0"]);
    assert.deepEqual(await source.complete?.(ana, "resources/incident__note", "at", "", { incident: "INC-1" }), []);
    assert.deepEqual(await source.complete?.(ana, "resources/incident__note", "at", "", {}), []);
    engine.put("responder/ana", { known: Array.from({ length: 200 }, (_, at) => `INC-${at}`), duty: true });
    assert.deepEqual(await source.complete?.(ana, "prompts/incident__review", "incident", "inc-19", {}), [
      "INC-19",
      ...Array.from({ length: 10 }, (_, at) => `INC-19${at}`),
    ]);
    engine.put("responder/ana", { known: ["INC-1"], duty: false });
    assert.deepEqual(await source.complete?.(ana, "prompts/incident__review", "incident", "", {}), []);
  });

  it("C8 a subscriber to one of many is notified of that one alone, while it may address it", async () => {
    const { source, engine } = serve();
    await act(source, ana, "tools/learn", { key: "INC-3" });
    const flags: string[] = [];
    const watch = (incidentKey: string, ref: OfferRef = "resources/incident__state"): (() => void) =>
      source.watch(ana, (dirty) => flags.push(`${incidentKey} ${dirty}`), { ref, args: { incident: incidentKey } });
    const undo = [watch("INC-1"), watch("INC-2"), watch("none"), watch("INC-2", "resources/incident__fixed")];
    const all = listen(source, ana);
    await quiet();
    const note = (key: string, text: string): void => engine.put(`incident/${key}`, { notes: [text], open: true, secret: false });
    note("INC-2", "a");
    note("INC-3", "a");
    await quiet();
    assert.deepEqual(flags.splice(0), ["INC-2 resources/incident__state", "INC-2 resources/incident__fixed"]);
    note("INC-1", "b");
    await quiet();
    assert.deepEqual(flags.splice(0), ["INC-1 resources/incident__state"]);
    engine.put("responder/ana", { known: ["INC-1"], duty: true });
    await quiet();
    flags.length = 0;
    note("INC-2", "c");
    await quiet();
    assert.deepEqual(flags.splice(0), []);
    for (const end of undo) end();
    all.undo();
    await quiet();
    assert.deepEqual(all.flags, ["lists"], "of the choices alone");
    assert.equal(engine.listeners, 0);
  });

  it("C8 the caller's own subscription to one of many is notified before the reply", async () => {
    const { source } = serve();
    await act(source, ana, "tools/learn", { key: "INC-3" });
    const order: string[] = [];
    const undo = source.watch(ana, () => order.push("notified"), { ref: "resources/incident__state", args: { incident: "INC-3" } });
    await quiet();
    await act(source, ana, "tools/incident__comment", { incident: "INC-3", text: "x" }).then(() => order.push("reply"));
    assert.deepEqual(order, ["notified", "reply"]);
    undo();
  });

  it("scopes are required as on the actor itself, and keys are listed to callers with them alone", async () => {
    const { source } = serve();
    const admin: Viewer = { ...ana, scopes: ["admin"] };
    const args = { incident: "INC-1" };
    assert.equal(code(await act(source, ana, "tools/incident__purge", args)), "SCOPE");
    assert.equal(code(await act(source, ana, "tools/incident__purge", { incident: "none" })), "SCOPE");
    assert.deepEqual(await act(source, admin, "tools/incident__purge", args), { ok: null });
    const text = async (viewer: Viewer): Promise<string> => JSON.stringify(await inputOf(source, "incident__purge", "dynamic", viewer));
    assert.doesNotMatch(await text(ana), /INC-1/);
    assert.match(await text(admin), /INC-1/);
    assert.doesNotMatch(await text(ana), /INC-1/);
  });

  it("a turn that changes no choice changes no list", async () => {
    const { source } = serve();
    await act(source, ana, "tools/learn", { key: "INC-3" });
    const before = listed(await source.surface(ana), "dynamic").tools;
    const { flags, undo } = listen(source, ana, false);
    await quiet();
    await act(source, ana, "tools/incident__comment", { incident: "INC-3", text: "x" });
    await quiet();
    assert.deepEqual(flags, []);
    assert.equal(listed(await source.surface(ana), "dynamic").tools, before);
    undo();
  });
});

describe("links by argument: keyed retries, handles, other doors", () => {
  it("C4 a retry gets its first reply also when the key is no choice any more; another key's actor is another call", async () => {
    const { source, engine } = serve();
    const comment = (key: string, options: CallOptions): Promise<Reply> =>
      act(source, ana, "tools/incident__comment", { incident: key, text: "x" }, options);
    assert.deepEqual(await comment("INC-1", { key: "once" }), { ok: 1 });
    assert.deepEqual(await comment("INC-2", { key: "once" }), { ok: 1 });
    await act(source, ana, "tools/hide");
    assert.deepEqual(await comment("INC-1", { key: "once" }), { ok: 1 });
    assert.deepEqual(await comment("INC-2", { key: "once" }), { ok: 1 });
    assert.equal(code(await comment("INC-1", { key: "twice" })), "INVALID");
    for (const key of ["INC-1", "INC-2"]) assert.deepEqual(Object(engine.actors.get(`incident/${key}`)?.state).notes, ["x"]);
  });

  it("C4 another process routes a retry to the actor that applied the call", async () => {
    await using engine = await LocalEngine.start({ kinds: [responder, incident], store: memoryStore() });
    for (const key of ["INC-1", "INC-2"]) await engine.call({ to: incident.id(key), action: BEGIN_ACTION, args: null, start: null });
    const processes = [1, 2].map(() => cast({ engine, kinds: [responder, incident] }));
    const comment = (at: number, key: string): Promise<Reply | undefined> | undefined =>
      processes[at]?.act(ana, "tools/incident__comment", { incident: key, text: "x" }, { key: "once" });
    assert.deepEqual(await comment(0, "INC-2"), { ok: 1 });
    await processes[0]?.act(ana, "tools/hide", {}, {});
    assert.deepEqual(await comment(1, "INC-2"), { ok: 1 });
    assert.match(JSON.stringify(await comment(1, "INC-1")), /INVALID/);
    assert.deepEqual(Object((await engine.read(incident.id("INC-2")))?.state).notes, ["x"]);
    assert.deepEqual(Object((await engine.read(incident.id("INC-1")))?.state).notes, []);
  });

  it("C4 a retry finds its first call also if another actor of the kind took the key later", async () => {
    await using engine = await LocalEngine.start({ kinds: [responder, incident], store: memoryStore() });
    for (const key of ["INC-1", "INC-2"]) await engine.call({ to: incident.id(key), action: BEGIN_ACTION, args: null, start: null });
    const [first, second] = [1, 2].map(() => cast({ engine, kinds: [responder, incident] }));
    const comment = async (source: Source | undefined, key: string): Promise<Reply | undefined> =>
      source?.act(ana, "tools/incident__comment", { incident: key, text: "x" }, { key: "once" });
    for (const key of ["INC-1", "INC-2"]) assert.deepEqual(await comment(first, key), { ok: 1 });
    await first?.act(ana, "tools/hide", {}, {});
    for (const key of ["INC-1", "INC-2"]) assert.deepEqual(await comment(second, key), { ok: 1 });
  });

  it("a handle and a key address together", async () => {
    const desk = actor("desk", {
      description: "A desk.",
      per: "handle",
      state: z.object({}),
      links: { incident: { kind: incident, choices: () => ["INC-1"] } },
    });
    const { source } = serve([desk, incident]);
    const started = await act(source, ana, "tools/start_desk");
    const { handle } = Object("ok" in started ? started.ok : {});
    const { tools, resourceTemplates } = listed(await source.surface(ana), "static");
    assert.deepEqual(Object(tools.find(({ name }) => name === "incident__comment")?.["inputSchema"]).required, [
      "handle",
      "incident",
      "text",
    ]);
    assert.equal(resourceTemplates[0]?.["uriTemplate"], "incident://{handle}/{incident}/state");
    assert.deepEqual(await act(source, ana, "tools/incident__comment", { handle, incident: "INC-1", text: "x" }), { ok: 1 });
    assert.equal(code(await act(source, ana, "tools/incident__comment", { handle, incident: "INC-2", text: "x" })), "INVALID");
    assert.equal(code(await act(source, ana, "tools/incident__comment", { incident: "INC-1", text: "x" })), "INVALID");
    assert.equal(code(await act(source, bob, "tools/incident__comment", { handle, incident: "INC-1", text: "x" })), "HANDLE");
    assert.deepEqual(await act(source, ana, "resources/incident__fixed", { handle, incident: "INC-1" }), { ok: "1 notes" });
    assert.deepEqual(await source.complete?.(ana, "prompts/incident__review", "incident", "", { handle }), ["INC-1"]);
  });

  it("the meta tools list the key's choices, and act with it", async () => {
    const { source } = serve();
    const tools = meta(source);
    const possible = await act(tools, ana, "tools/actions");
    assert.match(JSON.stringify(possible), /"action":"incident__comment".{0,200}"enum":\["INC-1","INC-2"\]/);
    const args = { action: "incident__comment", arguments: { incident: "INC-2", text: "x" } };
    assert.deepEqual(await act(tools, ana, "tools/act", args), { ok: 1 });
    assert.equal(code(await act(tools, ana, "tools/act", { action: "incident__comment", arguments: { text: "x" } })), "INVALID");
  });

  it("transports that address actors by id act through links by argument", async () => {
    const { engine } = serve();
    const acting = new Acting({ engine, kinds: [responder, incident] });
    assert.equal(acting.mayOffer("responder/ana", "tools/incident__comment"), true);
    const args = { incident: "INC-2", text: "x" };
    assert.deepEqual(await acting.act("responder/ana", ana, "tools/incident__comment", args, {}), { ok: 1 });
  });
});
