// The minimal server by lines around a turn of our engine: reads a call, looks up its tool, checks the rate limit, runs the turn and
// writes its reply. It has no sessions, scopes, keys or notifications.
import { createServer } from "node:net";
import { isJsonObject, type Json, systemClock, TokenBuckets } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import { counter } from "../examples/counter/counter.ts";
import { setV8Flags } from "../src/cli/server-process.ts";
import { ready } from "./ready.ts";

const kind = counter("memory");
const engine = await LocalEngine.start({ kinds: [kind] });
const main = kind.id("main");
const actions = new Map(kind.catalogue.tools.map(({ name }) => [name, `tools/${name}`]));
const viewer = { scopes: [] };
const buckets = new TokenBuckets(systemClock);
const RATE = { perSecond: 1_000_000, burst: 1_000_000 };

/** Returns undefined for a notification. */
const answer = (line: string): string | undefined => {
  const message: Json = JSON.parse(line);
  if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") throw new Error("It is no message.");
  const { id, method, params } = message;
  if (typeof id !== "number") return undefined;
  if (method !== "tools/call") return `{"jsonrpc":"2.0","id":${id},"result":{}}`;
  const { name, arguments: args } = isJsonObject(params) ? params : {};
  const action = typeof name === "string" ? actions.get(name) : undefined;
  if (action === undefined || !isJsonObject(args) || buckets.take("", RATE) > 0) throw new Error("It is no call.");
  const reply = engine.callNow({ to: main, action, args, viewer, start: null });
  if (reply instanceof Promise || !("ok" in reply) || typeof reply.ok !== "number") throw new Error("It has no sum at once.");
  return `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"${reply.ok}"}]}}`;
};

setV8Flags();
const server = createServer((socket) => {
  let rest = "";
  socket.setNoDelay(true).setEncoding("latin1");
  socket.on("data", (chunk: string) => {
    const text = rest + chunk;
    const answers: string[] = [];
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; from = end + 1, end = text.indexOf("\n", from)) {
      const reply = answer(text.slice(from, end));
      if (reply !== undefined) answers.push(reply);
    }
    rest = text.slice(from);
    if (answers.length > 0) socket.write(`${answers.join("\n")}\n`);
  });
});
ready(server);
