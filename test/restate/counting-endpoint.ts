import { createServer } from "node:http2";
import { isRestateSdk } from "../../src/hosts/restate/sdk.ts";
import { install } from "./install.ts";
import { onLoopback } from "../on-loopback.ts";

export interface CountingEndpoint extends AsyncDisposable {
  readonly url: string;
  /** How many connections were opened to it. */
  readonly connections: () => number;
}

/** Serves one virtual object, `count`: its handler `up` adds one and returns the sum; `hold` answers when `held` settles. */
export const countingEndpoint = async (
  options: { readonly port?: number; readonly name?: string; readonly held?: Promise<unknown> } = {},
): Promise<CountingEndpoint> => {
  const { sdk } = await install();
  if (!isRestateSdk(sdk)) throw new TypeError("The SDK has not the shape that is used.");
  const plain = { enableLazyState: false, journalRetention: 60_000, idempotencyRetention: 60_000 };
  const counter = sdk.object({
    name: options.name ?? "count",
    handlers: {
      up: sdk.handlers.object.exclusive(plain, async (context) => {
        const sum = Number((await context.get("sum")) ?? 0) + 1;
        context.set("sum", sum);
        return sum;
      }),
      hold: sdk.handlers.object.exclusive(plain, async () => {
        await options.held;
        return null;
      }),
    },
  });
  const server = createServer(sdk.createEndpointHandler({ services: [counter], bidirectional: true, logger: () => {} }));
  let opened = 0;
  server.on("session", () => {
    opened += 1;
  });
  const loopback = await onLoopback(server, options.port);
  return {
    url: loopback.url,
    connections: () => opened,
    [Symbol.asyncDispose]: () => loopback[Symbol.asyncDispose](),
  };
};
