// A server with every feature, written with the official SDK v2.
import { completable, McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import * as z from "zod";
import { CITIES, type Everything, PIXEL } from "./everything.ts";

export function everythingV2(): Everything {
  const server = new McpServer(
    { name: "everything", version: "1.0.0" },
    { instructions: "Ask for anything.", capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  const seen: Everything["seen"] = { aborted: 0, runs: 0, subscribed: [] };

  server.registerTool(
    "add",
    {
      title: "Add",
      description: "Adds two numbers.",
      inputSchema: z.object({ a: z.number(), b: z.number().describe("The other") }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
      _meta: { "example.com/colour": "red" },
    },
    ({ a, b }) => ({
      content: [{ type: "text", text: `${a + b}` }],
      structuredContent: { sum: a + b },
      _meta: { "example.com/took": 1 },
    }),
  );
  server.registerTool("fail", { description: "Throws." }, () => {
    throw new Error("It is broken.");
  });
  server.registerTool("refuse", {}, () => ({ content: [{ type: "text", text: "No." }], isError: true }));
  server.registerTool("show", {}, () => ({
    content: [
      { type: "image", data: PIXEL, mimeType: "image/png", annotations: { audience: ["user"] } },
      { type: "resource_link", uri: "memo://hello", name: "hello" },
      { type: "resource", resource: { uri: "memo://in", mimeType: "text/plain", text: "inside" } },
    ],
  }));
  server.registerTool("dig", { inputSchema: z.object({ steps: z.number() }) }, async ({ steps }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    const reported = progressToken === undefined ? 0 : steps;
    for (let progress = 1; progress <= reported; progress += 1)
      await mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken: progressToken ?? "", progress, total: steps, message: `step ${progress}` },
      });
    return { content: [{ type: "text", text: "done" }] };
  });
  server.registerTool("confirm", { inputSchema: z.object({ what: z.string() }) }, async ({ what }) => {
    seen.runs += 1;
    const { action, content } = await server.server.elicitInput({
      message: `Really ${what}?`,
      requestedSchema: { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] },
    });
    return { content: [{ type: "text", text: `${action} ${JSON.stringify(content)}` }] };
  });
  server.registerTool("twice", {}, async () => {
    seen.runs += 1;
    const first = await server.server.createMessage({
      messages: [{ role: "user", content: { type: "text", text: "Say a number." } }],
      maxTokens: 10,
    });
    const { roots } = await server.server.listRoots();
    return { content: [{ type: "text", text: JSON.stringify([first.content, roots]) }] };
  });
  server.registerTool("whoami", {}, ({ http }) => ({
    content: [{ type: "text", text: JSON.stringify([http?.authInfo?.clientId, http?.authInfo?.scopes]) }],
  }));
  server.registerTool("say", {}, async () => {
    await server.sendLoggingMessage({ level: "warning", logger: "sayer", data: { warned: true } });
    return { content: [] };
  });
  server.registerTool("wait", {}, async ({ mcpReq: { signal } }) => {
    seen.runs += 1;
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    seen.aborted += 1;
    return { content: [] };
  });
  server.registerTool("touch", {}, async () => {
    await server.server.sendResourceUpdated({ uri: "memo://hello" });
    await server.server.sendResourceUpdated({ uri: "notes://a%2Fb" });
    return { content: [] };
  });
  const secret = server.registerTool("secret", {}, () => ({ content: [{ type: "text", text: "psst" }] }));
  secret.disable();
  server.registerTool("toggle", {}, () => {
    secret.update({ enabled: !secret.enabled });
    return { content: [{ type: "text", text: secret.enabled ? "on" : "off" }] };
  });

  server.registerResource("hello", "memo://hello", { title: "Hello", mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "hello", _meta: { "example.com/page": 1 } }],
  }));
  server.registerResource("broken", "memo://broken", {}, () => {
    throw new Error("It is torn.");
  });
  server.registerResource(
    "note",
    new ResourceTemplate("notes://{id}", {
      list: () => ({ resources: [{ uri: "notes://1", name: "note" }] }),
      complete: { id: (typed) => ["one", "other", "two"].filter((id) => id.startsWith(typed)) },
    }),
    { description: "A note." },
    (uri, { id }) => ({ contents: [{ uri: uri.href, text: `note ${String(id)}` }] }),
  );
  server.registerResource("file", new ResourceTemplate("files:///{+path}", { list: undefined }), {}, (uri, { path }) => ({
    contents: [{ uri: uri.href, blob: Buffer.from(String(path)).toString("base64") }],
  }));

  server.registerPrompt(
    "greet",
    {
      title: "Greet",
      description: "Greets somebody.",
      argsSchema: z.object({
        name: z.string(),
        city: completable(z.string(), (typed) => CITIES.filter((city) => city.startsWith(typed))),
      }),
    },
    ({ name, city }) => ({
      description: "A greeting.",
      messages: [
        { role: "user", content: { type: "text", text: `Greet ${name} of ${city}.` } },
        { role: "assistant", content: { type: "text", text: "Hello." } },
      ],
    }),
  );
  server.registerPrompt("torn", {}, () => {
    throw new Error("It is torn.");
  });

  server.server.setRequestHandler("resources/subscribe", ({ params }) => {
    seen.subscribed.push(params.uri);
    return {};
  });
  server.server.setRequestHandler("resources/unsubscribe", ({ params }) => {
    seen.subscribed.splice(seen.subscribed.indexOf(params.uri), 1);
    return {};
  });
  return {
    server,
    seen,
    connect: (transport) => server.connect(transport),
    log: (data) => server.sendLoggingMessage({ level: "notice", data }),
  };
}
