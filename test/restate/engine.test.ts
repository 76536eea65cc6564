// The engine suite against a real server: all of it, and every trait that is claimed.
import { after, before } from "node:test";
import { engineSuite } from "../../src/testing/conformance/index.ts";
import { install } from "./install.ts";
import { openOn, serverClock } from "./open-engine.ts";
import { RestateServer } from "./restate-server.ts";

let server: RestateServer | undefined;
let sdk: unknown;

const running = (): RestateServer => {
  if (server === undefined) throw new Error("The server has not started.");
  return server;
};

before(async () => {
  const installed = await install();
  sdk = installed.sdk;
  server = await RestateServer.start(installed.server);
});

after(() => server?.[Symbol.asyncDispose]());

engineSuite(
  "RestateEngine",
  openOn(running, () => sdk),
  { clock: serverClock(running) },
);
