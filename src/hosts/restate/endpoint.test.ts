import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type ClientHttp2Session, type ClientHttp2Stream, createServer, type Http2ServerResponse } from "node:http2";
import { test, describe, it } from "node:test";
import { until } from "../../testing/index.ts";
import { onLoopback } from "../../../test/on-loopback.ts";
import { Endpoint, TurnRequest } from "./endpoint.ts";
import { World } from "./world.fixture.ts";

const sdk = (): Parameters<typeof Endpoint.open>[0]["sdk"] => {
  const defined = { name: "" };
  const handler = (): undefined => undefined;
  return {
    object: () => defined,
    service: () => defined,
    handlers: { handler, object: { exclusive: handler, shared: handler } },
    serde: { json: { serialize: () => Buffer.alloc(0), deserialize: () => null } },
    createEndpointHandler: () => handler,
  };
};

const status = async (session: ClientHttp2Session): Promise<unknown> => {
  const stream = session.request({ ":path": "/small" });
  const [headers] = await once(stream, "response");
  stream.resume();
  return Object(headers)[":status"];
};

void test("a connection on which a large value waits accepts other turns", async () => {
  const { direct } = new World({ kinds: [] });
  const endpoint = await Endpoint.open({ sdk: sdk(), services: [], host: "127.0.0.1", port: 0, identityKeys: [], direct });
  let waits = 0;
  endpoint.extra = (request, response) => {
    if (request.url === "/large") {
      response.stream.respond({ ":status": 200 });
      response.stream.write(Buffer.alloc(31 * 2 ** 20));
      waits = response.stream.writableLength;
    } else response.end();
    return true;
  };
  const session = connect(endpoint.url);
  try {
    // It is not read.
    session.request({ ":path": "/large" }).on("error", () => undefined);
    await until("it waits", () => waits > 0);
    assert.equal(await status(session), 200);
  } finally {
    session.destroy();
    await endpoint.close();
  }
});

interface Met extends AsyncDisposable {
  readonly request: TurnRequest;
  readonly response: Http2ServerResponse;
  readonly client: ClientHttp2Stream;
  /** The connection, as when the server dies. */
  cut(): void;
}

/** A request in progress, both ends of it. */
async function meet(): Promise<Met> {
  const server = createServer({ Http2ServerRequest: TurnRequest });
  const loopback = await onLoopback(server);
  const session = connect(loopback.url);
  session.on("error", () => undefined);
  const come = Promise.withResolvers<readonly [TurnRequest, Http2ServerResponse]>();
  server.on("request", (request: TurnRequest, response: Http2ServerResponse) => come.resolve([request, response]));
  const client = session.request({ ":method": "POST", ":path": "/invoke", "content-type": "text/plain" });
  client.on("error", () => undefined);
  const [request, response] = await come.promise;
  return {
    request,
    response,
    client,
    cut: () => session.destroy(),
    async [Symbol.asyncDispose]() {
      session.destroy();
      await loopback[Symbol.asyncDispose]();
    },
  };
}

const textOf = async (request: TurnRequest): Promise<string> => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
};

describe("a request to run a turn", () => {
  it("has the headers that were sent, and its path and method separately", async () => {
    await using met = await meet();
    const { headers, url, method } = met.request;
    assert.deepEqual([{ ...headers }, url, method], [{ "content-type": "text/plain" }, "/invoke", "POST"]);
  });

  it("returns its body as it arrives, to reads before and after", async () => {
    await using met = await meet();
    const body = met.request[Symbol.asyncIterator]();
    const first = body.next();
    met.client.write("one");
    assert.equal(String((await first).value), "one");
    met.client.write("two");
    assert.equal(String((await body.next()).value), "two");
    met.client.end();
    assert.deepEqual(await body.next(), { done: true, value: undefined });
    assert.deepEqual(await body.next(), { done: true, value: undefined });
  });

  it("gives each chunk to one pending read, oldest first", async () => {
    await using met = await meet();
    const body = met.request[Symbol.asyncIterator]();
    const reads = [body.next(), body.next(), body.next(), body.next()];
    met.client.write("one");
    assert.equal(String((await reads[0])?.value), "one");
    met.client.write("two");
    assert.equal(String((await reads[1])?.value), "two");
    met.client.end();
    assert.deepEqual(await Promise.all(reads.slice(2)), [
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
  });

  it("rejects a read after it was closed", async () => {
    await using met = await meet();
    const over = once(met.request.stream, "close");
    met.client.close(8);
    await over;
    const body = met.request[Symbol.asyncIterator]();
    await assert.rejects(body.next(), /went away/);
    await assert.rejects(body.next(), /went away/);
    assert.equal(await met.request.body.peek(() => ["something"]), undefined);
  });

  it("peeks at what has arrived once it is long enough, and consumes nothing", async () => {
    await using met = await meet();
    const { body } = met.request;
    const looked: string[] = [];
    const found = body.peek((bytes) => {
      looked.push(String(bytes));
      return looked.length < 2 ? 6 : { length: bytes.length };
    });
    for (const piece of ["one", "tw"]) {
      met.client.write(piece);
      await once(met.request.stream, "data");
    }
    met.client.end("o!");
    assert.deepEqual(await found, { length: 7 });
    assert.deepEqual(looked, ["one", "onetwo!"]);
    assert.deepEqual(await body.peek((bytes) => [String(bytes)]), ["onetwo!"]);
    assert.equal(await textOf(met.request), "onetwo!");
  });

  it("peeks at more than it reads ahead, and returns it afterwards", async () => {
    await using met = await meet();
    const { body } = met.request;
    const sent = "0123456789".repeat(200_000);
    const found = body.peek((bytes) => (bytes.length < 1_000_000 ? 1_000_000 : { bytes }));
    met.client.end(sent);
    const { bytes } = (await found) ?? assert.fail("It is nothing.");
    assert.ok(sent.startsWith(String(bytes)));
    assert.equal(await textOf(met.request), sent);
  });

  it("does not hold a body that would be too long, and discards the rest", async () => {
    await using met = await meet();
    const { body, stream } = met.request;
    const found = body.peek(() => 2 ** 32 - 1);
    met.client.write("one");
    assert.equal(await found, undefined);
    stream.respond({ ":status": 200 });
    stream.end("done");
    body.discard();
    const over = once(stream, "close");
    met.client.resume().end("0123456789".repeat(200_000));
    await over;
    assert.equal(stream.rstCode, 0);
  });

  it("peeks at nothing if the expected data does not arrive, and rejects if it cannot be read", async () => {
    await using met = await meet();
    const { body } = met.request;
    const never = body.peek(() => 4);
    met.client.end("one");
    assert.equal(await never, undefined);
    assert.equal(await body.peek(() => 4), undefined);
    const unread = body.peek(() => {
      throw new RangeError("unread");
    });
    await assert.rejects(unread, RangeError);
    assert.equal(await textOf(met.request), "one");
  });

  it("loses nothing of a body that is longer than it reads ahead", async () => {
    await using met = await meet();
    const body = met.request[Symbol.asyncIterator]();
    const sent = "0123456789".repeat(200_000);
    met.client.end(sent);
    await once(met.request.stream, "pause");
    assert.equal(met.request.stream.isPaused(), true);
    let text = "";
    for (let next = await body.next(); next.done !== true; next = await body.next()) text += String(next.value);
    assert.equal(text, sent);
  });

  it("closes silently once both ends are done", async () => {
    await using met = await meet();
    let closed = false;
    met.request.on("close", () => (closed = true));
    const over = once(met.request.stream, "close");
    met.client.resume().end("all");
    assert.equal(await textOf(met.request), "all");
    met.response.end("done");
    await over;
    assert.equal(closed, false);
  });

  for (const [how, end] of [
    ["is reset", (met: Met) => met.client.close(8)],
    ["loses its connection", (met: Met) => met.cut()],
  ] as const)
    it(`emits close when it ${how}`, async () => {
      await using met = await meet();
      const body = met.request[Symbol.asyncIterator]();
      met.response.write("working");
      await once(met.client, "data");
      const closed = once(met.request, "close");
      const next = body.next().then(
        ({ done }) => done,
        () => true,
      );
      end(met);
      await closed;
      assert.equal(await next, true);
    });

  it("emits close when it is reset after its body was complete", async () => {
    await using met = await meet();
    met.client.end("all");
    assert.equal(await textOf(met.request), "all");
    met.response.write("working");
    await once(met.client, "data");
    const closed = once(met.request, "close");
    met.client.close(8);
    await closed;
  });
});
