// The code of docs/recipes/lambda.md.
import { authorizedCaller, bufferedHandler, forLambda } from "troupe/lambda";
import { createServer } from "troupe/server";
import * as z from "zod";

const server = createServer("weather", "1.0.0", { ...forLambda });

server.tools.register(
  { name: "feels_like", description: "How a temperature feels.", input: z.object({ celsius: z.number() }) },
  ({ args, viewer }) => `${viewer.principal} feels ${args.celsius < 15 ? "cold" : "warm"}.`,
);

/** The entry point for Lambda. The caller is the one that the gateway's authorizer found. */
export const handler = bufferedHandler(server, { caller: authorizedCaller });
