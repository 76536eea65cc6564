// Runs inside a page: two official clients call a service of the page over message ports.
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { lamp } from "../../src/bridges/embed/lamp.fixture.ts";
import { overPort, serve } from "../../src/bridges/embed/index.ts";

const textOf = (value: unknown): string => JSON.stringify(value);

async function converse(client: ClientV1 | ClientV2, modern = false): Promise<object> {
  const service = lamp();
  const { port1, port2 } = new MessageChannel();
  const served = await serve(service, { transport: overPort(port1), info: { name: "page", version: "1.0.0" } });
  let notified = 0;
  const changed = Promise.withResolvers<void>();
  const onChange = (): void => {
    notified += 1;
    changed.resolve();
  };
  if (client instanceof ClientV1) client.setNotificationHandler(ToolListChangedNotificationSchema, onChange);
  else client.setNotificationHandler("notifications/tools/list_changed", onChange);
  await client.connect(overPort(port2));
  if (modern && client instanceof ClientV2) await client.listen({ toolsListChanged: true });
  const tools = async (): Promise<readonly string[]> => (await client.listTools()).tools.map(({ name }) => name);
  const before = await tools();
  const wrong = await client.callTool({ name: "no_such", arguments: {} }).then(textOf, () => "refused");
  await client.callTool({ name: "switch_on", arguments: {} });
  await changed.promise;
  const after = await tools();
  const state = textOf((await client.readResource({ uri: "mcp://service/state/on" })).contents);
  const server = client.getServerVersion()?.name;
  await client.close();
  await served.closed;
  return { server, before, wrong, after, notified, state, listeners: service.listeners() };
}

Object.assign(globalThis, {
  converse: async () => ({
    isPage: "document" in globalThis && !("process" in globalThis),
    v1: await converse(new ClientV1({ name: "v1", version: "1" })),
    v2: await converse(new ClientV2({ name: "v2", version: "2" })),
    modern: await converse(new ClientV2({ name: "v2", version: "2" }, { versionNegotiation: { mode: "auto" } }), true),
  }),
});
