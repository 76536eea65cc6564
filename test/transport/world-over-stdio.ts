// A program that serves the small world of the gateway's tests over standard streams.
import { gatewayOf, world } from "../../src/mcp/gateway/kit.fixture.ts";
import { serveStdio } from "../../src/mcp/transport/index.ts";

const { source } = world();
await using gateway = gatewayOf(source);
const door = serveStdio({ gateway });
console.log("a line that must not reach the client");
await door.closed;
