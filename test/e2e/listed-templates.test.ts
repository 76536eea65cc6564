// Resources of a listed template are in the list of resources, in both eras, and follow the state.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../src/core/actor/index.ts";
import { type Json, TroupeError } from "../../src/core/contract/index.ts";
import { createServer } from "../../src/mcp/server/index.ts";
import { merge, prefix } from "../../src/mcp/source/index.ts";
import { testServer } from "../../src/testing/index.ts";

const unseen = (value: unknown) => Object(value);

const notebook = actor("notebook", {
  description: "A notebook of notes.",
  state: z.object({ notes: z.record(z.string(), z.string()).default({}) }),
  tools: {
    write: {
      description: "Writes a note.",
      input: z.object({ name: z.string(), text: z.string() }),
      run({ state, args }) {
        state.notes[args.name] = args.text;
      },
    },
  },
  resources: {
    all: { uri: "notebook://all", view: ({ state }) => Object.keys(state.notes) },
    note: {
      uri: "notebook://note/{+name}",
      mimeType: "text/plain",
      listed: true,
      enabled: ({ state }) => Object.keys(state.notes).length < 4,
      choices: { name: ({ state }) => Object.keys(state.notes) },
      view: ({ state, args }) => state.notes[args.name] ?? "",
    },
  },
});

const HEADS = [
  { name: "all", uri: "notebook://all" },
  { name: "a", mimeType: "text/plain", uri: "notebook://note/a" },
  { name: "in/b c", mimeType: "text/plain", uri: "notebook://note/in/b%20c" },
];

for (const era of ["legacy", "modern"] as const)
  test(`an actor's template lists its current values, and clients are notified of changes (${era})`, async () => {
    await using server = await testServer([notebook]);
    const client = server.client({ era });
    assert.deepEqual(await client.listResources(), HEADS.slice(0, 1));
    const writer = server.client();
    await writer.callTool("write", { name: "a", text: "A." });
    await writer.callTool("write", { name: "in/b c", text: "B." });
    assert.deepEqual(await client.listResources(), HEADS);
    if (era === "modern") assert.equal((await client.request("resources/list"))["ttlMs"], 0, "it must not be cached");
    assert.deepEqual(
      (await client.listResourceTemplates()).map(({ uriTemplate }) => uriTemplate),
      ["notebook://note/{+name}"],
    );
    const { contents } = await client.readResource("notebook://note/in/b%20c");
    assert.deepEqual(contents, [{ uri: "notebook://note/in/b%20c", mimeType: "text/plain", text: "B." }]);
    await assert.rejects(client.readResource("notebook://note/none"), {
      code: era === "modern" ? -32602 : -32002,
      message: /Resource not found/,
      data: { uri: "notebook://note/none" },
    });
    for (const name of ["c", "d"]) await writer.callTool("write", { name, text: "" });
    assert.deepEqual(await client.listResources(), HEADS.slice(0, 1), "a disabled template lists nothing");
  });

for (const era of ["legacy", "modern"] as const)
  test(`list_changed is sent if a listed value is added, not if its content changes (${era})`, async () => {
    await using server = await testServer([notebook]);
    const client = server.client({ era });
    const listChanges = () => client.notifications.methods.filter((one) => one === "notifications/resources/list_changed").length;
    await client.listResources();
    await client.callTool("write", { name: "a", text: "A." });
    await client.notifications.first("notifications/resources/list_changed");
    await client.listResources();
    await client.callTool("write", { name: "a", text: "Another." });
    await server.clock.advance(0);
    assert.equal(listChanges(), 1);
  });

for (const era of ["legacy", "modern"] as const)
  test(`a long list can be read to its end while values are added (${era})`, async () => {
    const names = Array.from({ length: 500 }, (_, at) => `note ${at}`);
    await using own = createServer("notes", "1");
    own.resources.register({ name: "note", uri: "notes://{id}", list: () => names }, ({ args: { id } }) => id);
    await using server = await testServer(own);
    const client = server.client({ era });
    const seen = new Set<unknown>();
    let cursor: Json | undefined;
    do {
      const { resources, nextCursor } = await client.request("resources/list", cursor === undefined ? {} : { cursor });
      for (const { name } of z.array(z.object({ name: z.string() })).parse(resources)) seen.add(name);
      names.unshift(`new ${names.length}`);
      own.relist();
      cursor = nextCursor;
    } while (cursor !== undefined);
    for (let at = 0; at < 500; at += 1) assert.ok(seen.has(`note ${at}`), `note ${at}`);
  });

function files(): { readonly server: ReturnType<typeof createServer>; readonly names: string[] } {
  const names = ["a.txt"];
  const server = createServer("files", "1");
  server.resources.register(
    {
      name: "file",
      title: "File",
      uri: "files://{+path}",
      list({ viewer: { principal = "anonymous" } }) {
        return principal === "ann" ? [...names, "ann.txt"] : names;
      },
    },
    ({ args: { path } }) => `The file ${path}.`,
  );
  return { server, names };
}

for (const era of ["legacy", "modern"] as const)
  test(`a server's template lists what \`list\` returns for each viewer, under a prefix too (${era})`, async () => {
    const { server: own, names } = files();
    await using _own = own;
    await using server = await testServer(merge(own.source, prefix("more", own.source)));
    const ann = server.client({ era, principal: "ann" });
    const bob = server.client({ era, principal: "bob" });
    const seen = async (client: typeof ann) => (await client.listResources()).map(({ title, uri }) => [title, uri]);
    assert.deepEqual(await seen(ann), [
      ["File: a.txt", "files://a.txt"],
      ["File: ann.txt", "files://ann.txt"],
      ["File: a.txt", "files://more/a.txt"],
      ["File: ann.txt", "files://more/ann.txt"],
    ]);
    assert.deepEqual(await seen(bob), [
      ["File: a.txt", "files://a.txt"],
      ["File: a.txt", "files://more/a.txt"],
    ]);
    names.push("in/b.txt");
    own.relist();
    assert.deepEqual((await seen(bob)).slice(0, 2), [
      ["File: a.txt", "files://a.txt"],
      ["File: in/b.txt", "files://in/b.txt"],
    ]);
    const { contents } = await bob.readResource("files://in/b.txt");
    assert.deepEqual(contents, [{ uri: "files://in/b.txt", text: "The file in/b.txt." }]);
    assert.deepEqual(await bob.complete({ uri: "files://{+path}" }, "path", "in"), ["in/b.txt"]);
  });

for (const era of ["legacy", "modern"] as const)
  test(`a listed URI is read by the template that listed it, even if others match (${era})`, async () => {
    const serverOf = (name: string) => {
      const server = createServer(name, "1");
      const answer = ({ args: { path } }: { readonly args: { readonly path: string } }): string => `${name} ${path}`;
      server.resources.register({ name: "file", uri: "files://{+path}", list: () => ["a.txt", "in/b.txt"] }, answer);
      server.resources.register({ name: "one", uri: "files://one/{path}", list: () => ["c.txt"] }, answer);
      server.resources.register(
        { name: "word", uri: "words://{word}", list: () => ["an", "unlisted", "unread"] },
        ({ args: { word } }) => `${name} ${word}`,
      );
      server.resources.register(
        { name: "un", uri: "words://un{word}", list: () => ["read"] },
        ({ args: { word } }) => `${name} un ${word}`,
      );
      server.resources.register({ name: "all", uri: "side://{+path}" }, answer);
      server.resources.register(
        { name: "side", uri: "side://{path}", list: () => ["d.txt"] },
        ({ args: { path } }) => `${name} side ${path}`,
      );
      return server;
    };
    await using first = serverOf("first");
    await using second = serverOf("second");
    await using server = await testServer(merge(first.source, prefix("more", second.source)));
    const client = server.client({ era });
    const read: unknown[] = [];
    for (const { uri } of await client.listResources()) {
      const { contents } = await client.readResource(uri);
      read.push([uri, contents[0]?.["text"]]);
    }
    assert.deepEqual(read, [
      ["files://a.txt", "first a.txt"],
      ["files://in/b.txt", "first in/b.txt"],
      ["files://one/c.txt", "first c.txt"],
      ["words://an", "first an"],
      ["words://unread", "first un read"],
      ["side://d.txt", "first side d.txt"],
      ["files://more/a.txt", "second a.txt"],
      ["files://more/in/b.txt", "second in/b.txt"],
      ["files://more/one/c.txt", "second c.txt"],
      ["words://more/an", "second an"],
      ["words://more/unread", "second un read"],
      ["side://more/d.txt", "second side d.txt"],
    ]);
  });

for (const era of ["legacy", "modern"] as const)
  test(`law 3: a viewer without a template's scopes is listed none of its names (${era})`, async () => {
    const safe = actor("safe", {
      description: "A safe.",
      state: z.object({ names: z.array(z.string()).default(["plan"]) }),
      resources: {
        paper: {
          uri: "safe://{name}",
          listed: true,
          scopes: ["papers"],
          choices: { name: ({ state }) => state.names },
          view: ({ args }) => args.name,
        },
      },
    });
    await using own = createServer("files", "1");
    own.resources.register({ name: "file", uri: "files://{+path}", scopes: ["files"], list: () => ["plan"] }, ({ args: { path } }) => path);
    await using papers = await testServer([safe]);
    await using folder = await testServer(own);
    for (const [server, scope, uri] of [
      [papers, "papers", "safe://plan"],
      [folder, "files", "files://plan"],
    ] as const) {
      const seen = async (...scopes: readonly string[]) =>
        (await server.client({ era, scopes }).listResources()).map((resource) => resource.uri);
      assert.deepEqual(await seen("another"), []);
      assert.deepEqual(await seen(scope), [uri]);
      assert.equal((await server.client({ era }).listResourceTemplates()).length, 1, "so that clients can request its scopes");
    }
  });

test("`list` runs for lists and completions, not for calls", async () => {
  let calls = 0;
  await using own = createServer("files", "1");
  own.tools.register({ name: "count" }, () => "1");
  const list = (): readonly string[] => {
    calls += 1;
    return ["a"];
  };
  own.resources.register({ name: "file", uri: "files://{id}", list, complete: { id: () => [] } }, ({ args: { id } }) => id);
  await using server = await testServer(own);
  const client = server.client();
  await client.listResources();
  const before = calls;
  assert.ok(before > 0);
  await client.callTool("count");
  await client.readResource("files://a");
  assert.equal(calls, before);
});

test("law 3: a failing `list` lists nothing and is logged once, and its resources can still be read", async () => {
  const lines: unknown[] = [];
  await using own = createServer("files", "1", { log: (...line) => lines.push(line) });
  const broken = (name: string, list: () => unknown): void =>
    void own.resources.register(unseen({ name, uri: `${name}://{id}`, list }), ({ args: { id } }) => `${name} ${id}`);
  broken("throws", () => {
    throw new RangeError("secret");
  });
  broken("waits", async () => ["a"]);
  broken("numbers", () => [1]);
  await using server = await testServer(own);
  const client = server.client();
  for (let times = 0; times < 2; times += 1) assert.deepEqual(await client.listResources(), []);
  assert.equal((await client.readResource("waits://a")).contents.length, 1);
  assert.deepEqual(
    lines.map((line) => /resources\/\w+ lists nothing: its `list` [^:]+/u.exec(JSON.stringify(line))?.[0]),
    [
      "resources/throws lists nothing: its `list` threw RangeError",
      "resources/waits lists nothing: its `list` gave a promise",
      "resources/numbers lists nothing: its `list` gave a list that holds a number",
    ],
  );
});

test("a template that cannot be listed is refused with advice", async () => {
  const wrong = (resource: object) => () =>
    actor("notebook", unseen({ description: "S.", state: z.object({}), resources: { note: { view: () => "", ...resource } } }));
  const isBadDefinition = (error: unknown): boolean =>
    error instanceof TroupeError && error.code === "BAD_DEFINITION" && /give its URI one variable/.test(error.message);
  const a = () => ["a"];
  assert.throws(wrong({ uri: "n://all", listed: true }), isBadDefinition);
  assert.throws(wrong({ uri: "n://{a}/{b}", listed: true, choices: { a } }), isBadDefinition);
  assert.throws(wrong({ uri: "n://{a}", listed: true }), isBadDefinition);
  wrong({ uri: "n://{alias}/{a}", listed: true, choices: { a } })();
  await using server = createServer("s", "1");
  for (const uri of ["n://all", "n://{a}/{b}"])
    assert.throws(() => server.resources.register({ name: "n", uri, list: a }, () => ""), isBadDefinition);
});
