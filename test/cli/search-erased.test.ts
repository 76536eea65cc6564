// What is erased or pruned is found no more: beside a running server, and where none runs.
import assert from "node:assert/strict";
import { existsSync, mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../../src/testing/index.ts";
import { serveChild } from "../serve-child.ts";
import { troupe } from "./run.ts";

const sendTo =
  (address = "") =>
  async (user: string, capability: string, payload: object): Promise<string> => {
    const response = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        version: "1.0",
        type: "capability_request",
        id: "1",
        capability_id: capability,
        payload,
        context: { user_id: user },
      }),
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return text;
  };

test("a search finds nothing of what was erased, with a server and without", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-erased-"));
  const data = join(folder.path, "data");
  const serve = () => serveChild(["examples/reading", "--packets", "--no-auth"], { data });
  const erase = async (user: string): Promise<void> => {
    const listed = (await troupe("actors", "--data", data, "--json")).stdout;
    const actor = new RegExp(`"id":"([^"]*${user}[^"]*)"`).exec(listed)?.[1] ?? assert.fail(listed);
    const { code, stderr } = await troupe("checkpoint", actor, "--erase", "--data", data, "--json");
    assert.equal(code, 0, stderr);
  };
  {
    await using served = await serve();
    const send = sendTo(served.ready.packets);
    const finds = async (user: string) => /Okapis of/.test(await send(user, "reading_list_search", { query: "okapis" }));
    for (const user of ["ada", "bea"]) {
      await send(user, "reading_list", { add: `Okapis of ${user}` });
      await send(user, "reading_list", { add: "Giraffes" });
    }
    await until("both are found", async () => (await finds("ada")) && (await finds("bea")));
    await erase("ada");
    await until("one is found no more", async () => !(await finds("ada")));
    assert.ok(await finds("bea"));
  }
  assert.ok(readFileSync(join(data, "search.db"), "latin1").includes("Okapis of bea"));
  await erase("bea");
  assert.ok(!existsSync(join(data, "search.db")), "made of what is gone");
  await using served = await serve();
  const send = sendTo(served.ready.packets);
  await send("bea", "reading_list", { add: "Zebras" });
  await until("it is made anew", async () => /Zebras/.test(await send("bea", "reading_list_search", { query: "zebras" })));
  assert.doesNotMatch(await send("bea", "reading_list_search", { query: "okapis" }), /Okapis of/);
});
