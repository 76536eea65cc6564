import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { until } from "../../testing/index.ts";
import { fakeIngress } from "./fake-ingress.fixture.ts";
import { sendTo, type Invocation } from "./ingress-request.ts";
import { onLoopback } from "../../../test/on-loopback.ts";

const CALL: Invocation = { object: "actor-tally", key: "a b/ü", handler: "turn", input: { text: "☃" }, idempotencyKey: "once" };
const MAX_ANSWER_BYTES = 64 * 1_048_576;
const UNKNOWN = { name: "EngineError", code: "OUTCOME_UNKNOWN", applied: "unknown" };

describe("one request to an ingress", () => {
  test("says what is called, under which key and with what, and how", async () => {
    await using server = await fakeIngress(({ response }) => void response.end('{"said":"☃"}'));
    const send = sendTo(server.base);
    assert.deepEqual(await send(CALL).answer, { said: "☃" });
    await send(CALL, "begin").answer;
    await send({ object: "control", handler: "cancel", input: null }).answer;
    assert.deepEqual(server.asked, [
      { path: "/actor-tally/a%20b%2F%C3%BC/turn", key: "once", input: CALL.input },
      { path: "/actor-tally/a%20b%2F%C3%BC/turn/send", key: "once", input: CALL.input },
      { path: "/control/cancel", key: undefined, input: null },
    ]);
  });

  test("an answer comes in pieces, cut within a character; an empty one is nothing; what is no JSON is unknown", async () => {
    await using server = await fakeIngress(async ({ nth, response }) => {
      if (nth === 2) response.end();
      else if (nth === 3) response.end("no JSON");
      else if (nth === 4) response.writeHead(202).end('"taken"');
      else {
        for (const byte of Buffer.from('"☃"')) {
          response.write(Buffer.of(byte));
          await turn();
        }
        response.end();
      }
    });
    const send = sendTo(server.base);
    assert.equal(await send(CALL).answer, "☃");
    assert.equal(await send(CALL).answer, undefined);
    await assert.rejects(send(CALL).answer, UNKNOWN);
    assert.equal(await send(CALL).answer, "taken");
  });

  for (const [status, code, applied] of [
    [409, "CANCELLED", false],
    [404, "ENGINE_MISSING", false],
    [400, "NOT_APPLIED", false],
    [422, "NOT_APPLIED", false],
    [408, "OUTCOME_UNKNOWN", "unknown"],
    [429, "OUTCOME_UNKNOWN", "unknown"],
    [500, "OUTCOME_UNKNOWN", "unknown"],
    [503, "OUTCOME_UNKNOWN", "unknown"],
  ] as const)
    test(`${status} is ${code}`, async () => {
      await using server = await fakeIngress(({ response }) => void response.writeHead(status).end(`it says why ${"x".repeat(1_000)}`));
      await assert.rejects(sendTo(server.base)(CALL).answer, (error) => {
        const { message } = Object(error);
        assert.deepEqual({ code: Object(error).code, applied: Object(error).applied }, { code, applied });
        assert.ok(message.length < 800 && (status === 409 || message.includes("it says why")), message);
        return true;
      });
    });

  test("a connection that is lost, before its answer or within it, leaves the outcome unknown", async () => {
    await using server = await fakeIngress(({ nth, response, lose }) => {
      if (nth === 1) return lose();
      response.writeHead(200, { "content-length": "100" });
      response.write("true", lose);
    });
    const send = sendTo(server.base);
    for (let n = 0; n < 2; n += 1) await assert.rejects(send(CALL).answer, UNKNOWN);
  });

  test("whoever leaves is told at once that the outcome is unknown, also within an answer", async () => {
    await using server = await fakeIngress(({ nth, response }) => {
      if (nth === 2) response.writeHead(200, { "content-length": "100" }).write("true");
    });
    const send = sendTo(server.base);
    for (let n = 1; n <= 2; n += 1) {
      const { answer, leave } = send(CALL);
      await until("it is asked", () => server.asked.length === n);
      leave();
      await assert.rejects(answer, UNKNOWN);
      leave();
    }
  });

  test("an answer longer than the bound is not read to its end", async () => {
    let written = 0;
    const piece = Buffer.alloc(1_048_576, "x");
    await using server = await fakeIngress(async ({ response }) => {
      response.write('"');
      for (; written <= MAX_ANSWER_BYTES && !response.destroyed; written += piece.length)
        await new Promise<void>((resolve) => response.write(piece, () => resolve()));
      response.end('"');
    });
    await assert.rejects(sendTo(server.base)(CALL).answer, (error) => {
      assert.match(String(Object(error).cause), /longer than 67108864 bytes/);
      assert.equal(Object(error).code, "OUTCOME_UNKNOWN");
      return true;
    });
  });

  test("https is spoken where the address says so", async () => {
    const first = Promise.withResolvers<number | undefined>();
    await using server = await onLoopback(
      createServer((socket) =>
        socket.once("data", (bytes: Buffer) => {
          first.resolve(bytes[0]);
          socket.destroy();
        }),
      ),
    );
    await assert.rejects(sendTo(`https://127.0.0.1:${server.port}`)(CALL).answer, UNKNOWN);
    // A TLS handshake, and nothing of the call.
    assert.equal(await first.promise, 0x16);
  });
});
