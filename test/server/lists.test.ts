// Lists in one answer or in pages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createServer, type Server, type ServerOptions } from "troupe/server";
import { CLIENTS, connect } from "../clients.ts";
import { opened } from "../wire.ts";
import { at } from "../wire.ts";

const MANY = 250;

function many(options: ServerOptions = {}, description = ""): Server {
  const server = createServer("many", "1", options);
  for (let n = 0; n < MANY; n += 1) {
    server.tools.register({ name: `tool${n}`, description }, () => "ok");
    server.prompts.register({ name: `prompt${n}` }, () => "ok");
    server.resources.register({ name: `resource${n}`, uri: `many://r${n}` }, () => "ok");
    server.resources.register({ name: `template${n}`, uri: `many://t${n}/{id}` }, () => "ok");
  }
  return server;
}

for (const which of CLIENTS)
  test(`lists are complete in one answer, ${which.sdk}, ${which.era}`, async () => {
    await using server = many();
    const { http } = await server.listen({ http: true });
    await using client = await connect({ http: http.url }, which);
    const lists = [await client.tools(), await client.prompts(), await client.resources(), await client.templates()];
    assert.deepEqual(
      lists.map(({ length }) => length),
      [MANY, MANY, MANY, MANY],
    );
  });

/** The sizes of a list's pages. */
async function pages(server: Server): Promise<readonly number[]> {
  const { http } = await server.listen({ http: true });
  const session = await opened(http.url);
  const sizes: number[] = [];
  const names = new Set<unknown>();
  for (let cursor: unknown; sizes.length === 0 || cursor !== undefined;) {
    const { reply } = await session.request("tools/list", typeof cursor === "string" ? { cursor } : {});
    const tools = at(reply, "result", "tools");
    assert.ok(Array.isArray(tools));
    for (const tool of tools) names.add(at(tool, "name"));
    sizes.push(tools.length);
    cursor = at(reply, "result", "nextCursor");
  }
  assert.equal(names.size, MANY);
  return sizes;
}

test("pageSize cuts lists into pages", async () => {
  await using server = many({ pageSize: 100 });
  assert.deepEqual(await pages(server), [100, 100, 50]);
});

test("a list of more than 4 Mi characters is always split into pages", async () => {
  await using server = many({}, "x".repeat(40_000));
  const sizes = await pages(server);
  assert.ok(sizes.length > 1 && sizes.every((size) => size * 40_000 <= 4_194_304), String(sizes));
});
