/** One of several server processes that share only a file or tables. Argument: the path. Exits at the end of its standard input. */
import { authenticator, hashApiKey } from "troupe/transport";
import { onOneFile } from "../../examples/server/sessions.ts";
import { KEYS } from "./sessions-processes.ts";

const [path = ""] = process.argv.slice(2);
const { server, stores } = onOneFile(path, new Uint8Array(32).fill(7));
const GATE = { type: "object", properties: { gate: { type: "string" } }, required: ["gate"] } as const;
const gates = new Map<string, PromiseWithResolvers<void>>();
const gateOf = (name: string): PromiseWithResolvers<void> => {
  const gate = gates.get(name) ?? Promise.withResolvers<void>();
  gates.set(name, gate);
  return gate;
};
server.tools.register({ name: "where", description: "Which process this is." }, () => String(process.pid));
server.tools.register(
  { name: "walk", description: "Tells a step, then waits at a gate.", input: GATE },
  async ({ args: { gate }, emit, log }) => {
    // Makes the reply a stream, even if the client requested no progress.
    log("warning", "off");
    emit({ step: 1 });
    await gateOf(gate).promise;
    return `walked in ${process.pid}`;
  },
);
server.tools.register({ name: "open", description: "Opens a gate.", input: GATE }, ({ args: { gate } }) => {
  gateOf(gate).resolve();
  return "open";
});
const keys = Object.entries(KEYS).map(([name, key]) => ({ name, sha256: hashApiKey(key) }));
const { http } = await server.listen({ http: { auth: await authenticator({ keys }) } });
console.log(JSON.stringify(http.url));
process.stdin.resume().once("end", () => {
  void server.close({ graceMs: 0 }).then(() => stores[Symbol.asyncDispose]());
});
