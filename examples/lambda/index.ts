import { createServer } from "troupe/server";
import { bufferedHandler, forLambda } from "troupe/lambda";
import * as z from "zod";

export const server = createServer("hello", "1.0.0", { ...forLambda });

server.tools.register(
  { name: "echo", description: "Echo back the provided message.", input: z.object({ message: z.string() }) },
  ({ args }) => args.message,
);

server.tools.register({ name: "count", description: "Counts to three and reports each number." }, async ({ emit }) => {
  for (const n of [1, 2, 3]) emit(`${n}`);
  return "three";
});

/** For an HTTP API, a function URL, a REST API or a load balancer. */
export const handler = bufferedHandler(server);
