/**
 * A tool server on standard input and output that does what its caller asks, however bad. It writes each message it received as a line
 * to the file SEEN. MODERN: it supports the modern era only. DEAF: it does not answer even the handshake.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const { SEEN, MODERN, DEAF, RUDE } = process.env;
/** Exits after a while, whatever the test does. */
setTimeout(() => process.exit(9), 60_000).unref();

const see = (what: string): void => {
  if (SEEN !== undefined) appendFileSync(SEEN, `${what}\n`);
};
const write = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
/** Too deep to be written as text in one go. */
const nested = (id: unknown, depth: number): void => {
  const structured = `{"nested":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  const result = JSON.stringify({ ...complete, content: [] }).slice(0, -1);
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result},"structuredContent":${structured}}}\n`);
};

/** Calls that wait to be released. */
const held: (() => void)[] = [];

interface RpcRequest {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: {
    readonly name?: unknown;
    readonly arguments?: { readonly n?: unknown };
    readonly requestId?: unknown;
    readonly _meta?: { readonly progressToken?: unknown };
  };
}

const INFO = { name: "misbehaving", version: "1.0.0" };
const capabilities = { tools: {} };

const call = (id: unknown, name: unknown, n: number, progressToken: unknown): void => {
  const say = (text: string, more: object = {}): void => write({ id, result: { ...complete, content: [{ type: "text", text }], ...more } });
  switch (name) {
    case "pid":
      return say(String(process.pid));
    case "environment":
      return say(JSON.stringify(process.env));
    case "die":
      process.exit(3);
    case "hang":
      return see("hang");
    case "stuck":
      see("stuck");
      for (const end = Date.now() + 60_000; Date.now() < end;);
      process.exit(9);
    case "flood":
      for (let sent = 0; sent < 100_000; sent += 1) write({ method: "notifications/message", params: { level: "info", data: "x" } });
      return;
    case "endless":
      setInterval(() => process.stdout.write("x".repeat(100_000)), 1);
      return;
    case "huge":
      return say("x".repeat(n));
    case "deep":
      return nested(id, n);
    case "fail":
      return say("It is out of order.", { isError: true });
    case "progress":
      for (let done = 1; done <= n; done += 1)
        write({ method: "notifications/progress", params: { progressToken, progress: done, total: n, message: `step ${done}` } });
      return void held.push(() => say("done"));
    case "release":
      for (const one of held.splice(0)) one();
      return say("released");
    case "say":
      for (let line = 0; line < n; line += 1) process.stderr.write(`line ${line}\n`);
      process.stderr.write(`${"y".repeat(100_000)}\nlast\n`);
      return say("said");
    case "odd":
      return write({ id, result: { ...complete, content: "nothing of what was agreed" } });
    default:
      return write({ id, error: { code: -32_602, message: `There is no tool ${String(name)}.` } });
  }
};

const complete = MODERN === undefined ? {} : { resultType: "complete" };
const unknownMethod = (id: unknown): void => write({ id, error: { code: -32_601, message: "Method not found" } });

const answer = ({ id, method, params }: RpcRequest): void => {
  if (DEAF !== undefined) return;
  switch (method) {
    case "server/discover":
      if (MODERN === undefined) return unknownMethod(id);
      return write({
        id,
        result: { ...complete, supportedVersions: ["2026-07-28"], capabilities, serverInfo: INFO, ttlMs: 0, cacheScope: "private" },
      });
    case "initialize":
      if (MODERN !== undefined) return unknownMethod(id);
      see(`began ${process.pid}`);
      return write({ id, result: { protocolVersion: "2025-06-18", capabilities, serverInfo: INFO } });
    case "ping":
      return write({ id, result: {} });
    case "tools/list":
      return write({
        id,
        result: {
          ...complete,
          tools: [{ name: "pid", description: "Its process.", inputSchema: { type: "object" } }],
          ttlMs: 0,
          cacheScope: "private",
        },
      });
    case "tools/call":
      return call(id, params?.name, Number(params?.arguments?.n ?? 0), params?._meta?.progressToken);
    case "notifications/cancelled":
      return see("cancelled");
    default:
      if (id !== undefined) unknownMethod(id);
  }
};

if (RUDE !== undefined) {
  process.on("SIGTERM", () => see("SIGTERM"));
  setInterval(() => undefined, 1_000);
}
createInterface({ input: process.stdin }).on("line", (line) => {
  const request: RpcRequest = JSON.parse(line);
  answer(request);
});
