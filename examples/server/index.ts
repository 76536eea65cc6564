import { refuse } from "troupe";
import { blob, content, createServer, image, messages, message, type Server } from "troupe/server";
import * as z from "zod";

/** A PNG of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The server of the guide. Its tool `long_task` awaits `work`. */
export function demo(work: (signal: AbortSignal) => Promise<void>): Server {
  const server = createServer("demo", "1.0.0", { title: "A demonstration", instructions: "Ask for an echo." });

  server.tools.register(
    { name: "echo", description: "Echo back the provided message.", input: z.object({ message: z.string() }) },
    ({ args }) => args.message,
  );

  server.tools.register(
    { name: "long_task", description: "Takes its time and reports its progress.", task: "optional" },
    async ({ emit, signal }) => {
      emit({ status: "started" });
      await work(signal);
      emit({ status: "done" });
      return "ok";
    },
  );

  server.tools.register(
    {
      name: "area",
      description: "The area of a rectangle.",
      input: { type: "object", properties: { width: { type: "number" }, height: { type: "number" } }, required: ["width", "height"] },
      output: z.object({ area: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ args }) => ({ area: args.width * args.height }),
  );

  server.tools.register(
    { name: "divide", description: "Divides a by b.", input: z.object({ a: z.number(), b: z.number() }) },
    ({ args }) => {
      if (args.b === 0) throw refuse("b must not be 0.");
      return `${args.a / args.b}`;
    },
  );

  server.tools.register({ name: "draw", title: "Draw a pixel" }, () => content(["Here it is:", image(PIXEL, "image/png")]));

  server.resources.register({ name: "hello", uri: "file://hello.txt", mimeType: "text/plain" }, () => "hello world");

  server.resources.register(
    {
      name: "note",
      uri: "notes://{id}",
      complete: { id: ({ value }) => ["first", "second"].filter((id) => id.startsWith(value)) },
    },
    ({ args }) => `The note ${args.id}.`,
  );

  server.resources.register({ name: "pixel", uri: "demo://pixel", mimeType: "image/png" }, () => blob(PIXEL));

  server.prompts.register(
    { name: "greet", description: "Return a greeting message.", arguments: [{ name: "name", required: true }] },
    ({ args }) => messages([message("user", `hello ${args.name}`)]),
  );

  return server;
}
