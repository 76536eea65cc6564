// Owns: the pictures of the console in docs/images. Does not own: starting the server and the browser (test/console/console.fixture.ts).
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/client";
import sharp from "sharp";
import * as z from "zod";
import { ConsoleFixture } from "../../test/console/console.fixture.ts";
import { root } from "./pages.ts";

const MAX_BYTES = 120_000;
const COLOURS = 128;
const INCIDENTS = [
  ["Mail is down", 2],
  ["The door does not open", 3],
  ["Login is slow", 2],
  ["The disk is full", 1],
] as const;

async function call(client: Client, name: string, args: Record<string, unknown>): Promise<void> {
  const { isError, content } = await client.callTool({ name, arguments: args });
  if (isError === true) throw new Error(`${name}: ${JSON.stringify(content)}`);
}

/** Two users: one reports, the other is on call. */
async function act(reporter: Client, responder: Client): Promise<void> {
  await call(responder, "go_on_call", {});
  for (const [title, severity] of INCIDENTS) await call(reporter, "report", { title, severity });
  const comment = (client: Client, text: string): Promise<void> => call(client, "incident__comment", { incident: "INC-1", text });
  await comment(reporter, "Nothing arrives since nine.");
  await call(responder, "incident__acknowledge", { incident: "INC-1" });
  await comment(responder, "The queue is full. I am emptying it.");
  await comment(reporter, "The first messages arrive.");
  await call(responder, "incident__acknowledge", { incident: "INC-4" });
}

/** Clients act for a while. What the start of the server cost is then out of the figures of the last minute. */
async function keepBusy(clients: readonly Client[], ms = 62_000): Promise<void> {
  for (const end = Date.now() + ms; Date.now() < end; await setTimeout(200))
    for (const client of clients) await call(client, "incident__comment", { incident: "INC-2", text: "It is still so." });
}

async function takePictures(): Promise<void> {
  await using server = await ConsoleFixture.start({ modules: ["examples/incident-desk"] });
  const reporter = await server.connectAs({ principal: "ann" }, "support-portal");
  const responder = await server.connectAs({ principal: "ben", claims: { roles: ["responder"] } }, "pager");
  await act(reporter, responder);
  const { items } = await server.api(
    "/actors/incident/INC-1/events",
    z.object({ items: z.array(z.object({ id: z.string(), type: z.string() })) }),
  );
  const acknowledged = items.find(({ type }) => type.endsWith("acknowledge"));
  if (acknowledged === undefined) throw new Error(`No event to show: ${JSON.stringify(items)}`);
  const pages = [
    ["actor", "/actors/incident/INC-1?tab=offers&as=ann&offer=tools%2Fcomment", "main form"],
    ["history", "/actors/incident/INC-1?tab=history&at=4", "section.events tbody tr"],
    ["causes", `/events/${acknowledged.id}/causes`, "main svg"],
    ["overview", "/", ".chart canvas"],
  ] as const;
  for (const [name, path, drawn] of pages) {
    if (name === "overview") await keepBusy([reporter, responder]);
    await using opened = await server.open(path);
    await opened.page.locator(drawn).first().waitFor();
    // What is loaded after that, and a few of the figures that arrive each second.
    await keepBusy([reporter, responder], name === "overview" ? 6_000 : 500);
    await opened.check(name);
    const picture = await sharp(await opened.page.screenshot({}))
      .png({ palette: true, colours: COLOURS, effort: 10, dither: 0 })
      .toBuffer();
    if (picture.length > MAX_BYTES) throw new Error(`The picture of ${path} has ${picture.length} bytes, over ${MAX_BYTES}.`);
    writeFileSync(join(root, `docs/images/console-${name}.png`), picture);
    console.log(`docs/images/console-${name}.png  ${picture.length} bytes`);
  }
}

await takePictures();
