import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type ClientHttp2Session } from "node:http2";
import { test } from "node:test";
import { until } from "../../testing/index.ts";
import { Endpoint } from "./endpoint.ts";
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

void test("a connection on which a large piece waits takes other turns", async () => {
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
