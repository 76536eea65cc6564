import { createServer, type Server, type ServerOptions } from "troupe/server";
import * as z from "zod";

const CELSIUS = { kelvin: (c: number) => c + 273.15, fahrenheit: (c: number) => c * 1.8 + 32 };

/** The server. Tests give it options of their own, such as a simulated clock. */
export function converter(options: ServerOptions = {}): Server {
  const server = createServer("my-troupe", "0.1.0", { instructions: "Converts temperatures.", ...options });

  server.tools.register(
    {
      name: "convert",
      description: "Convert a temperature from degrees Celsius.",
      input: z.object({ celsius: z.number().min(-273.15).max(1_000_000), to: z.enum(["kelvin", "fahrenheit"]) }),
      output: z.object({ value: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ args }) => ({ value: CELSIUS[args.to](args.celsius) }),
  );

  server.tools.register(
    { name: "count_down", description: "Count down to zero and report each step.", input: z.object({ from: z.int().min(1).max(10) }) },
    ({ args, emit }) => {
      for (let n = args.from; n > 0; n -= 1) emit(`${n} …`);
      return "Zero.";
    },
  );

  server.resources.register({ name: "units", uri: "converter://units", mimeType: "application/json" }, () =>
    JSON.stringify(Object.keys(CELSIUS)),
  );

  server.prompts.register(
    { name: "explain", description: "Ask for an explanation of a unit.", arguments: [{ name: "unit", required: true }] },
    ({ args }) => `Explain the unit ${args.unit} in two sentences.`,
  );

  return server;
}
