// The guides to packets are tested: their code, the output of their commands, and their tables.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { unformatted } from "./guide-code.ts";
import { Ajv2020 } from "ajv/dist/2020.js";
import {
  ERROR_TYPES,
  packetClient,
  readConfig,
  readPacket,
  RefusedPacket,
  REPLY_PACKET_SCHEMA,
  REPLY_TYPES,
  REQUEST_PACKET_SCHEMA,
  REQUEST_TYPES,
} from "../src/bridges/packet/index.ts";
import { root, serveChild } from "./serve-child.ts";

const page = (name: string): string => readFileSync(join(root, "docs/guide", name), "utf8");
const guide = ["packets", "packet-actors", "packet-server", "packet-tests"].map((name) => page(`${name}.md`)).join("\n");
const format = page("packet-format.md");

interface Block {
  readonly language: string;
  readonly text: string;
}
const blocksOf = (text: string): readonly Block[] =>
  Array.from(text.matchAll(/```(\w+)\n([\s\S]*?)\n```/g), ([, language = "", inner = ""]) => ({ language, text: inner }));

const first = (text: string): readonly string[] => Array.from(text.matchAll(/^\| `([a-z_.]+)` \|/gm), ([, name = ""]) => name);
const section = (text: string, title: string): string => text.split(/^## /m).find((one) => one.startsWith(`${title}\n`)) ?? "";

test("the guide's code and configuration are parts of the tested examples", () => {
  const examples = globSync("examples/{reading,research-assistant}/*.{ts,yaml}", { cwd: root });
  const texts = examples.map((file) => unformatted(readFileSync(join(root, file), "utf8")));
  const blocks = blocksOf(guide).filter(({ language }) => language === "ts" || language === "yaml");
  assert.ok(blocks.length > 5);
  for (const { text } of blocks)
    assert.ok(
      texts.some((whole) => whole.includes(unformatted(text))),
      text,
    );
});

test("the packets in the guides are valid", () => {
  const ajv = new Ajv2020({ strict: false });
  const [request, reply] = [ajv.compile(REQUEST_PACKET_SCHEMA), ajv.compile(REPLY_PACKET_SCHEMA)];
  const [requests, answered] = format.split("## What you get");
  const seen = new Set<string>();
  const look = (blocks: readonly Block[], schema: typeof request): void => {
    for (const { language, text } of blocks) {
      if (language !== "json") continue;
      const packet: unknown = JSON.parse(text);
      assert.ok(schema(packet), `${text}\n${JSON.stringify(schema.errors)}`);
      seen.add(String(Object(packet).type));
      if (schema === request) assert.ok(!(readPacket(text) instanceof RefusedPacket), text);
    }
  };
  look(blocksOf(requests ?? ""), request);
  look([...blocksOf(answered ?? ""), ...blocksOf(guide)], reply);
  assert.deepEqual(seen, new Set<string>([...REQUEST_TYPES, ...REPLY_TYPES]));
});

test("the format names every type of error, and no other", () => {
  assert.deepEqual(first(section(format, "Errors, and what to do")).toSorted(), [...ERROR_TYPES].toSorted());
});

test("the guide has every key of the configuration, with its default", () => {
  const rows = Array.from(section(guide, "The configuration file").matchAll(/^\| `([a-z_.]+)` \| (.+?) \|/gm), ([, key, value]) => [
    key,
    value,
  ]);
  const known = Object.entries(readConfig({})).flatMap(([part, keys]) =>
    Object.entries({ ...keys }).map(([key, value]) => [`${part}.${key}`, typeof value === "string" ? value : JSON.stringify(value)]),
  );
  assert.deepEqual(rows, known);
});

describe("the guide's commands, one after the other on one server", { timeout: 60_000 }, () => {
  /** Replaces what differs between runs. */
  const settled = (text: string): unknown =>
    JSON.parse(text, (key, value: unknown) => (["trace_id", "execution_time_ms", "event", "at", "score"].includes(key) ? key : value));

  const troupe = (words: readonly string[], input: string): Promise<string> =>
    new Promise((settle, fail) => {
      const child = spawn(process.execPath, [join(root, "bin/troupe.js"), ...words], { cwd: root, stdio: ["pipe", "pipe", "inherit"] });
      let printed = "";
      child.stdout.on("data", (chunk: Buffer) => (printed += String(chunk)));
      child.once("exit", (code) => (code === 0 ? settle(printed) : fail(new Error(`${words.join(" ")} ended with ${code}`))));
      child.stdin.end(input);
    });

  test("print what the guide shows", async () => {
    const blocks = blocksOf(guide).filter(({ language }) => ["sh", "json", "text"].includes(language));
    const [serve, ...rest] = blocks;
    const words = serve?.text.split(" ") ?? [];
    assert.deepEqual(words.slice(0, 2), ["troupe", "serve"]);
    await using served = await serveChild(words.slice(2).map((word) => word.replace(":3001", ":0")));
    const { packets: url = "", packetsTcp = "" } = served.ready;
    let answers: readonly string[] = [];
    let held = 0;
    for (const { language, text } of rest) {
      if (language === "json") {
        assert.deepEqual(settled(answers[0] ?? "null"), settled(text));
        held += 1;
      } else if (language === "text") {
        assert.equal(answers.at(-1)?.trimEnd(), text);
        held += 1;
      } else answers = await Promise.all(text.split(/\n(?=\S)/).map((command) => ran(command, url, packetsTcp)));
    }
    assert.ok(held > 3);
  });

  const ran = async (command: string, url: string, tcp: string): Promise<string> => {
    const curl = /^curl -s http:\/\/127\.0\.0\.1:3000\/packets -H 'content-type: application\/json' -d '([^']*)'$/.exec(command);
    if (curl !== null) {
      const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: curl[1] ?? "" });
      return response.text();
    }
    const [, echoed = "", args] = /^(?:echo '([^']*)' \| )?troupe (.*)$/.exec(command) ?? [];
    if (args !== undefined) return troupe([...args.split(" "), "--url", url], echoed);
    // Not every machine has these programs, so the test sends the same data itself.
    const packet = /<<< '([^']*)'$/.exec(command)?.[1];
    assert.ok(packet !== undefined, `The guide has a command that no test knows: ${command}`);
    using client = packetClient(command.startsWith("websocat") ? url.replace("http:", "ws:") : tcp);
    return JSON.stringify(await client.send(Object(JSON.parse(packet))));
  };
});
