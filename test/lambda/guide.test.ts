// Following the pages "a first server" and "deploying" works in an empty directory, with the packed package.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { request } from "node:http";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { type JsonObject, isJsonObject } from "troupe/contract";
import { CLIENTS, connect } from "../clients.ts";
import { FAKE_CREDENTIALS, startDynamo } from "../dynamo/tables.ts";
import { installJudges } from "../foreign/install.ts";
import { serveChild } from "../serve-child.ts";
import { blocksOf, lineWith, PAGES, root } from "./pages.ts";
import { followPage, type Project } from "./project.ts";
import { changed } from "./samples.ts";

const run = promisify(execFile);
const KEY = "0123456789abcdef";
const KEY_SHA256 = createHash("sha256").update(KEY).digest("hex");
const LAUNCHER = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };

const fake = pathToFileURL(join(root, "test/lambda/fake-awslambda.ts")).href;

/** The response that a new process, like a new environment, streams for an event. */
const invoked = async (folder: string, file: string, more: JsonObject, env: Readonly<Record<string, string>> = {}): Promise<string> => {
  const script = `
    import { fakeAwsLambda, FakeResponseStream } from ${JSON.stringify(fake)};
    globalThis.awslambda = fakeAwsLambda;
    const { handler } = await import("./${file}");
    const sent = { text: "" };
    const stream = new FakeResponseStream({ head: (metadata) => Object.assign(sent, { status: metadata.statusCode, headers: metadata.headers }), bytes: (chunk) => (sent.text += chunk), end() {} });
    await handler(JSON.parse(process.env.EVENT), stream, { getRemainingTimeInMillis: () => 60_000 });
    process.stdout.write(JSON.stringify(sent), () => process.exit());`;
  const event = changed("function-url.json", { isBase64Encoded: false, ...more });
  const all = { ...process.env, KEY_SHA256, ...env, EVENT: JSON.stringify(event) };
  return (await run(process.execPath, ["--input-type=module", "-e", script], { cwd: folder, env: all })).stdout;
};

/** Callers without a key are refused, and so is a Host that is not allowed. */
const asksForTheKey = async (url: string, authorization: string): Promise<void> => {
  // fetch sets Host itself.
  const statusOf = (more: Readonly<Record<string, string>>): Promise<number | undefined> =>
    new Promise((settle, fail) => {
      const sent = request(url, { method: "POST", headers: { ...headers, ...more } }, (response) => {
        response.resume();
        settle(response.statusCode);
      });
      sent.once("error", fail);
      sent.end(JSON.stringify(initialize));
    });
  assert.equal(await statusOf({}), 401);
  assert.equal(await statusOf({ authorization }), 200);
  assert.equal(await statusOf({ authorization, host: "mcp.example" }), 200);
  assert.equal(await statusOf({ authorization, host: "evil.example" }), 403);
};

const objectIn = (value: unknown): JsonObject => {
  assert.ok(isJsonObject(value));
  return value;
};

/** The first block of code. */
const blockIn = (text: string): string => /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? "";

describe("the guide's instructions", () => {
  let project: Project;
  before(async () => {
    project = await followPage();
  });
  after(() => project[Symbol.asyncDispose]());

  test("each block of code is a file of the project, and compiles", async () => {
    for (const page of PAGES)
      for (const { language, file, text } of blocksOf(page)) assert.ok(["sh", "json"].includes(language) || file !== undefined, text);
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { text = "" } = blocksOf("first-server.md").find((block) => block.text.includes("compilerOptions")) ?? {};
    const settings = join(project.folder, "tsconfig.json");
    writeFileSync(settings, text);
    const types = ["--typeRoots", join(root, "node_modules/@types")];
    const { stdout } = await run(process.execPath, [tsc, "-p", settings, ...types, "--listFilesOnly"], { cwd: project.folder });
    for (const file of ["hello.ts", "serve.ts", "stdio.ts", "hello.test.ts", "deployed.ts", "agentcore.ts"])
      assert.ok(stdout.includes(join(project.folder, file)), file);
    await run(process.execPath, [tsc, "-p", settings, ...types], { cwd: project.folder });
  });

  test("the server works with the Inspector's commands and official clients", async () => {
    await using running = await project.start("serve.ts", { PORT: "0" });
    const inspect = async (part: string): Promise<string> => {
      const [, words = ""] = lineWith("first-server.md", part).split("npx --yes @modelcontextprotocol/inspector@2 ");
      const args = words.replace("http://127.0.0.1:3000/mcp", running.url).split(" ");
      return (await run(process.execPath, [join(installJudges(), LAUNCHER), ...args], { env: { ...process.env, HOME: project.folder } }))
        .stdout;
    };
    assert.match(await inspect("tools/list"), /"greet"[\s\S]*"count_down"/);
    assert.match(await inspect("tools/call"), /Hello, Ada\./);
    for (const which of CLIENTS) {
      await using client = await connect({ http: running.url }, which);
      assert.equal((await client.call("greet", { name: "Bo" })).text, "Hello, Bo.");
      assert.equal(await client.read("hello://motto"), "Be kind.");
    }
  });

  test("clients connect with the configurations of the page", async () => {
    writeFileSync(join(project.folder, "door.ts"), blockIn(readFileSync(join(root, "README.md"), "utf8")));
    const page = readFileSync(join(root, "docs/guide/first-server.md"), "utf8");
    const servers = Array.from(page.matchAll(/\{\s+"(mcpServers|servers)": [^`]+/g), ([text, key = ""]): JsonObject => {
      const [one] = Object.values(objectIn(objectIn(JSON.parse(text))[key]));
      return objectIn(one);
    });
    const [cursor, code, hello, door] = servers;
    assert.deepEqual([servers.length, cursor?.["url"], code?.["url"]], [4, "http://127.0.0.1:3000/mcp", "http://127.0.0.1:3000/mcp"]);
    assert.equal(code?.["type"], "http");
    for (const [server, tool] of [
      [hello, "greet"],
      [door, "unlock"],
    ] as const) {
      assert.ok(server?.["command"] === "node" && Array.isArray(server["args"]));
      const args = server["args"].map((word) => String(word).replace("/path/to/hello", project.folder));
      for (const file of args.filter((word) => /\.[jt]s$/.test(word))) assert.ok(existsSync(file), file);
      // The packed test package has no command; this repository's command is the same.
      const [program = "", ...rest] = args;
      const own = program.replace(join(project.folder, "node_modules/troupe"), root);
      const client = new Client({ name: "guide", version: "1" });
      // A client starts it from its own folder.
      await client.connect(new StdioClientTransport({ command: process.execPath, args: [own, ...rest], cwd: root, stderr: "inherit" }));
      const { tools } = await client.listTools();
      await client.close();
      assert.ok(tools.some(({ name }) => name === tool));
    }
  });

  test("its test passes", async () => {
    const { stdout } = await project.shell(lineWith("first-server.md", "node --test"));
    assert.match(stdout, /pass 1\b/);
    assert.match(stdout, /fail 0\b/);
  });

  test("the key and its hash are made as the page says", async () => {
    const commands = [lineWith("deploy.md", "KEY=$(node"), lineWith("deploy.md", "export KEY_SHA256"), 'echo "$KEY $KEY_SHA256"'];
    const [key = "", hash] = (await project.shell(commands.join("\n"))).stdout.trim().split(" ");
    assert.match(key, /^[0-9a-f]{64}$/);
    assert.equal(hash, createHash("sha256").update(key).digest("hex"));
  });

  test("when deployed it requires the key, and accepts its public name", async () => {
    await using running = await project.start("deployed.ts", { PORT: "0", KEY_SHA256, PUBLIC_HOST: "mcp.example" });
    await asksForTheKey(running.url, `Bearer ${KEY}`);
  });

  test("actors too, by the command that their container runs", async () => {
    const key = lineWith("serve.md", "KEY=$(node");
    const { stdout } = await project.shell([key, lineWith("serve.md", "> keys.json"), 'echo "$KEY"'].join("\n"));
    const { text = "" } = blocksOf("deploy.md").find(({ file }) => file === "Dockerfile.actors") ?? {};
    const command: unknown = JSON.parse(/^CMD (.+)$/m.exec(text)?.[1] ?? "");
    assert.ok(Array.isArray(command));
    const [program, serve, ...words] = command.map(String);
    assert.deepEqual([program, serve], ["node_modules/.bin/troupe", "serve"]);
    const data = join(project.folder, "data-deployed");
    // Loopback instead of every address, since this is not a container.
    const args = words.map((word) => word.replace("0.0.0.0:3000", "127.0.0.1:0").replace(/^\/data$/, data));
    await using served = await serveChild(args, { cwd: project.folder, data });
    await asksForTheKey(served.ready.http ?? "", `Bearer ${stdout.trim()}`);
  });

  test("zipped as the page says, the function answers only callers with the key", async () => {
    const task = join(project.folder, "../task");
    mkdirSync(task);
    const line = lineWith("deploy-aws.md", "zip -qr");
    const files = line.split(" ").slice(3).join(" ");
    // Without zip, copying the files that the command names gives the same folder.
    await project.shell(
      `if command -v zip && command -v unzip; then ${line}; unzip -q hello.zip -d ../task; else cp -R ${files} ../task; fi`,
    );
    const invoke = (more: Readonly<Record<string, string>>) =>
      invoked(task, "lambda.mjs", { headers: { ...headers, ...more }, body: JSON.stringify(initialize) });
    assert.match(await invoke({}), /"status":401/);
    assert.match(
      await invoke({ authorization: `Bearer ${KEY}` }),
      /"name\\":\\"hello\\".*"status":200|"status":200.*\\"name\\":\\"hello\\"/,
    );
  });

  test("with its tables, a session survives its environment (with a simulated DynamoDB)", async () => {
    await using dynamo = await startDynamo();
    symlinkSync(join(root, "node_modules/@aws-sdk"), join(project.folder, "node_modules/@aws-sdk"));
    const env = {
      AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
      AWS_REGION: "local",
      AWS_ACCESS_KEY_ID: FAKE_CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: FAKE_CREDENTIALS.secretAccessKey,
      REQUEST_STATE_KEY: "ab".repeat(32),
    };
    await run(process.execPath, ["tables.mjs"], { cwd: project.folder, env: { ...process.env, ...env } });
    const authorization = `Bearer ${KEY}`;
    const begun = await invoked(
      project.folder,
      "sessions.mjs",
      { headers: { ...headers, authorization }, body: JSON.stringify(initialize) },
      env,
    );
    const id = /"mcp-session-id":"([^"]+)"/.exec(begun)?.[1];
    assert.ok(id !== undefined, begun);
    // DELETE of an unknown session is 404, so it must be known here.
    const end = async (session: string) => {
      const more = { headers: { authorization, "mcp-session-id": session }, body: null };
      const http = { method: "DELETE", path: "/mcp", protocol: "HTTP/1.1", sourceIp: "192.0.2.3", userAgent: "t" };
      const about = { domainName: "klmno.lambda-url.eu-central-1.on.aws", http, requestId: "r", stage: "$default" };
      return /"status":(\d+)/.exec(await invoked(project.folder, "sessions.mjs", { ...more, requestContext: about }, env))?.[1];
    };
    assert.equal(await end("never-begun"), "404");
    assert.match((await end(id)) ?? "", /^20[024]$/);
    assert.equal(await end(id), "404");
    const ping = {
      headers: { ...headers, authorization, "mcp-session-id": id },
      body: JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" }),
    };
    assert.match(await invoked(project.folder, "sessions.mjs", ping, env), /"status":404/, "what has ended stays ended");
  });

  test("for AgentCore it listens without a key, and accepts unknown session ids #apptheory.agentcore", async () => {
    await using running = await project.start("agentcore.ts", { PORT: "0", HOST: "127.0.0.1" });
    const answer = await fetch(running.url, {
      method: "POST",
      headers: { ...headers, "mcp-session-id": "platform-1" },
      body: JSON.stringify(initialize),
    });
    assert.deepEqual([answer.status, answer.headers.get("mcp-session-id")], [200, "platform-1"]);
  });

  test("files in docker, aws and zip commands exist (docker and aws are not run)", () => {
    const commands = PAGES.flatMap(blocksOf).filter(({ language }) => language === "sh" || language === "dockerfile");
    const named = commands.flatMap(({ text }) => [
      ...Array.from(text.matchAll(/^COPY (.+) \.\/$/gm), ([, files = ""]) => files.split(" ")).flat(),
      ...Array.from(text.matchAll(/^zip -qr \S+ (.+)$/gm), ([, files = ""]) => files.split(" ")).flat(),
      ...Array.from(text.matchAll(/(?:fileb:\/\/|-f (?=Dockerfile))(\S+)/g), ([, file = ""]) => file),
      ...Array.from(text.matchAll(/^CMD \["node", "(\S+)"\]$/gm), ([, file = ""]) => file),
    ]);
    assert.ok(named.length > 15);
    // The archive is made by the test above.
    for (const file of named.filter((name) => name !== "hello.zip")) assert.ok(existsSync(join(project.folder, file)), file);
    assert.match(lineWith("deploy-aws.md", "zip -qr"), /\bhello\.zip\b/);
    const [handler = ""] = /--handler (\w+)\.handler/.exec(lineWith("deploy-aws.md", "create-function "))?.slice(1) ?? [];
    assert.ok(existsSync(join(project.folder, `${handler}.mjs`)));
  });
});
