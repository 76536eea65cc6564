// The code of skills/troupe/SKILL.md: a server without actors.
import { refuse } from "troupe";
import { createServer, type ServerOptions } from "troupe/server";
import * as z from "zod";

export function makeServer(options: ServerOptions = {}) {
  const server = createServer("calculator", "1.0.0", options);

  server.tools.register(
    {
      name: "divide",
      description: "Divide a by b.",
      input: z.object({ a: z.number(), b: z.number() }),
      output: z.object({ result: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ args }) => {
      if (args.b === 0) throw refuse("b must not be 0.");
      return { result: args.a / args.b };
    },
  );

  server.resources.register({ name: "constant", uri: "constants://{name}" }, ({ args }) => {
    if (args.name !== "pi") throw refuse("There is only pi.", { code: "UNKNOWN" });
    return String(Math.PI);
  });

  return server;
}
