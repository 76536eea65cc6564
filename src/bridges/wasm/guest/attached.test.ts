import assert from "node:assert/strict";
import { test } from "node:test";
import { settle, until } from "../../../testing/index.ts";
import { bytesOf, say, type Script, stage, textOf, told } from "./stage.fixture.ts";

const notes: Script = {
  "actor.init": async () => ({ state: "" }),
  "message-server-client.handle-send": async ({ state }, [data]) => ({ state: `${state}${told(data)}` }),
  "message-server-client.handle-request": async ({ state }) => ({ back: bytesOf(`${state}`) }),
};

test("C5 what an engine delivers to guests before it is attached waits, in its order, and is applied once it is", async () => {
  await using on = await stage({ notes });
  const id = await on.start("notes");
  on.guests.attach(on.engine)();
  for (const word of ["a", "b", "c"]) await on.engine.send(say(id, "send", word));
  const asked = on.request(id, "?");
  await settle();
  assert.equal(await on.own(id), "");
  assert.equal((await on.events(id)).length, 1);
  on.guests.attach(on.engine);
  assert.ok("abc".startsWith(textOf(await asked)));
  await until("all is applied", async () => (await on.own(id)) === "abc");
});

test("what waits for an engine is given up with its caller, and with the engine", async () => {
  await using on = await stage({ notes });
  const id = await on.start("notes");
  on.guests.attach(on.engine)();
  const leaving = new AbortController();
  const asked = on.engine.call(say(id, "request", "?"), { signal: leaving.signal });
  await settle();
  leaving.abort();
  await assert.rejects(asked, { code: "CANCELLED" });
  const other = on.request(id, "?");
  await settle();
  await on.engine[Symbol.asyncDispose]();
  await assert.rejects(other, { code: "DRAINING" });
});
