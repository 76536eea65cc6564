// A node as `cluster dev` sees it, without actors: an endpoint for Restate, an HTTP door that says who it is, one ready line.
import { once } from "node:events";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { countingEndpoint } from "../restate/counting-endpoint.ts";

const { values } = parseArgs({
  options: { node: { type: "string" }, http: { type: "string" }, fails: { type: "boolean" }, stubborn: { type: "boolean" } },
});
const portOf = (text = ""): number => Number(text.split(":").at(-1));

if (values.fails === true) {
  process.stderr.write("this module cannot be loaded\n");
  process.exit(2);
}
const endpoint = await countingEndpoint({ port: portOf(values.node) });
const door = createServer((_request, response) => {
  response.end(JSON.stringify({ pid: process.pid, secret: process.env["TROUPE_CLUSTER_SECRET"] }));
});
door.listen(portOf(values.http), "127.0.0.1");
await once(door, "listening");
process.on("SIGTERM", () => {
  process.stderr.write(`${JSON.stringify({ at: "", level: "info", event: "drained" })}\n`);
  if (values.stubborn === true) return;
  door.close();
  door.closeAllConnections();
  void endpoint[Symbol.asyncDispose]().then(() => process.exit(0));
});
process.stderr.write("a line of its own\n");
process.stdout.write(`${JSON.stringify({ ready: true, name: "stub", pid: process.pid })}\n`);
