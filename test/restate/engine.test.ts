// The engine suites against a real server: all of the first, and every trait that is claimed; indexes in small.
import { after, before } from "node:test";
import { engineIndexSuite, engineSuite } from "../../src/testing/conformance/index.ts";
import { install } from "./install.ts";
import { openIndexesOn, openOn, serverClock } from "./open-engine.ts";
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

engineIndexSuite(
  "indexes of RestateEngine",
  openIndexesOn(running, () => sdk),
  { actors: 40, runs: 1, steps: 12 },
);
