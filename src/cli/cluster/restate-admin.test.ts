import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { test } from "node:test";
import { onLoopback } from "../../../test/on-loopback.ts";
import { SimulatedClock, until } from "../../testing/index.ts";
import { deploymentsInUse, registerDeployment, RestateAdmin } from "./restate-admin.ts";

/** An admin API with given responses. */
const admin = async (
  answer: RequestListener,
  clock = new SimulatedClock(),
): Promise<AsyncDisposable & { readonly admin: RestateAdmin }> => {
  const loopback = await onLoopback(createServer(answer));
  return {
    admin: new RestateAdmin(loopback.url, clock),
    [Symbol.asyncDispose]: () => loopback[Symbol.asyncDispose](),
  };
};

test("a registration without a response times out and is attributed to the endpoint", async () => {
  const clock = new SimulatedClock();
  await using silent = await admin(() => undefined, clock);
  for (const [ask, code, message] of [
    [
      () => registerDeployment(silent.admin, "http://nodes:1/", false),
      "ENDPOINT_AWAY",
      /did not answer within 30 seconds.*http:\/\/nodes:1\//,
    ],
    [() => silent.admin.get("/deployments"), "RESTATE_AWAY", /did not answer within 30 seconds/],
  ] as const) {
    const rejected = assert.rejects(ask(), { code, message });
    await until("it waits", () => clock.pending === 1);
    await clock.advance(30_000);
    await rejected;
    assert.equal(clock.pending, 0);
  }
});

test("responses of an admin API have a size limit, and redirects are not followed", async () => {
  await using endless = await admin((_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      response.once("drain", more);
    };
    more();
  });
  await assert.rejects(endless.admin.get("/deployments"), { code: "RESTATE_AWAY", message: /longer than \d+ bytes/ });
  await using elsewhere = await admin((_request, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end());
  await assert.rejects(elsewhere.admin.get("/deployments"), { code: "RESTATE_AWAY" });
});

test("responses of another shape are used as far as possible, or refused", async () => {
  await using odd = await admin((request, response) => {
    const rows = request.url === "/query" ? { rows: [null, 7, { deployment: null, pinned: "x" }] } : {};
    const listed = request.url === "/deployments" ? { deployments: [{ id: 7, services: "all" }, []] } : {};
    response.end(JSON.stringify({ ...rows, ...listed }));
  });
  assert.deepEqual(await deploymentsInUse(odd.admin), [{ id: "", url: "", services: [], created: "", pinned: 0, newest: [] }]);
  await using plain = await admin((_request, response) => response.end("hello"));
  await assert.rejects(registerDeployment(plain.admin, "http://nodes:1/", false), {
    code: "RESTATE_REFUSED",
    message: /refused with 200, and said: hello/,
  });
});
