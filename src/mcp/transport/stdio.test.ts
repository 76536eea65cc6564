import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { PassThrough, Writable } from "node:stream";
import { describe, it } from "node:test";
import { fakeGateway, type FakeOptions } from "../../../test/transport/fake-gateway.ts";
import { eventually } from "../../../test/transport/settle.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { serveStdio, type StdioOptions } from "./stdio.ts";

function serve(fake: FakeOptions = {}, options: Partial<StdioOptions> = {}) {
  const gateway = fakeGateway(fake);
  const input = new PassThrough();
  const output = new PassThrough();
  let text = "";
  output.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const door = serveStdio({ gateway, input, output, ...options });
  return { gateway, input, output, door, text: () => text, lines: () => text.split("\n").slice(0, -1) };
}

const program = `
  import { serveStdio } from "./src/mcp/transport/index.ts";
  import { fakeGateway } from "./test/transport/fake-gateway.ts";
  const gateway = fakeGateway({ receive(text, channel) { console.log("noise", text.length); process.stdout.write("more noise"); channel.send(text); } });
  const door = serveStdio({ gateway });
  await door.closed;
  console.error("over");
`;

function child(source: string) {
  const args = ["--conditions=troupe-source", "--input-type=module-typescript", "--eval", source];
  const started = spawn(process.execPath, args, { cwd: new URL("../../..", import.meta.url), stdio: "pipe" });
  let out = "";
  let err = "";
  started.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  started.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const exited = new Promise<number | null>((done) => void started.once("close", (code) => done(code)));
  return { started, exited, out: () => out, err: () => err };
}

describe("stdio", () => {
  it("sends one message per line, as the principal local", async () => {
    const { input, door, lines, gateway } = serve();
    input.write('{"id":1,"method":"a"}\n{"id":2,"met');
    input.write('hod":"b"}\r\n\n');
    await eventually(() => lines().length === 2);
    assert.deepEqual(
      lines().map((line): unknown => JSON.parse(line)),
      [
        { jsonrpc: "2.0", id: 1, result: { method: "a", params: null, principal: "local", scopes: [] } },
        { jsonrpc: "2.0", id: 2, result: { method: "b", params: null, principal: "local", scopes: [] } },
      ],
    );
    assert.deepEqual(gateway.connections[0]?.frames, ['{"id":1,"method":"a"}', '{"id":2,"method":"b"}']);
    await door.close();
  });

  it("accepts another principal #cli.serve.as", async () => {
    const { door, gateway } = serve({}, { as: "ada" });
    assert.equal(gateway.connections[0]?.caller.principal, "ada");
    await door.close();
  });

  it("writes a message on one line whatever its layout", async () => {
    const { input, lines, door } = serve({ receive: (_text, channel) => channel.send('{\r\n  "a": 1\n}') });
    input.write("{}\n");
    await eventually(() => lines().length === 1);
    assert.deepEqual(JSON.parse(lines()[0] ?? ""), { a: 1 });
    await door.close();
  });

  it("passes bytes that are not UTF-8 to the gateway unchanged", async () => {
    const frames: string[] = [];
    const { input, door } = serve({ receive: (text) => void frames.push(text) });
    input.write(Buffer.from([0x7b, 0xff, 0x7d, 0x0a]));
    await eventually(() => frames.length === 1);
    assert.equal(frames[0], "{\ufffd}");
    await door.close();
  });

  it("answers a line that is too long, and continues", async () => {
    const { input, lines, door } = serve({}, { lineBytes: 40 });
    input.write("x".repeat(1_000));
    input.write(`${"x".repeat(1_000)}\n{"id":1}\n`);
    await eventually(() => lines().length === 2);
    assert.match(lines()[0] ?? "", /"code":-32600.*at most 40 bytes/);
    assert.match(lines()[1] ?? "", /"id":1/);
    await door.close();
  });

  it("answers requests before the end of input, then ends", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { gateway, input, lines, door } = serve({
      async receive(text, channel) {
        await promise;
        channel.send(text);
      },
    });
    gateway.held.add(promise);
    input.end('{"id":1}\n{"id":2}');
    await eventually(() => gateway.connections[0]?.frames.length === 2);
    resolve();
    await door.closed;
    assert.deepEqual(lines(), ['{"id":1}', '{"id":2}']);
    assert.equal(gateway.connections[0]?.channel.disconnected.aborted, true);
  });

  it("does not wait forever for running requests at the end of input", async () => {
    const { gateway, input, door } = serve({}, { graceMs: 20 });
    gateway.held.add(new Promise(() => {}));
    input.end();
    await door.closed;
  });

  it("waits for the grace period given to close", async () => {
    const clock = new SimulatedClock();
    const { gateway, door } = serve({}, { clock });
    gateway.held.add(new Promise(() => {}));
    let over = false;
    void door.closed.then(() => (over = true));
    const closed = door.close({ graceMs: 20_000 });
    await clock.advance(19_999);
    assert.equal(over, false);
    // A gateway that does not heed the grace has a second more for its last answers.
    await clock.advance(1_001);
    await closed;
  });

  it("ends when its output is closed", async () => {
    const { output, door, gateway } = serve();
    output.destroy(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
    await door.closed;
    assert.equal(gateway.connections[0]?.channel.disconnected.aborted, true);
    gateway.connections[0]?.channel.send("{}");
  });

  it("C8 pauses reading while the client does not read its answers", async () => {
    const gateway = fakeGateway({ receive: (_text, channel) => channel.send(JSON.stringify("x".repeat(10_000))) });
    const input = new PassThrough({ highWaterMark: 1_024 });
    const waiting: (() => void)[] = [];
    let open = false;
    let written = 0;
    const output = new Writable({
      highWaterMark: 1_024,
      write(chunk: Buffer, _encoding, done) {
        written += chunk.length;
        if (open) done();
        else waiting.push(done);
      },
    });
    const door = serveStdio({ gateway, input, output });
    let sent = 0;
    const total = 500;
    const pump = (): void => {
      while (sent < total) {
        sent += 1;
        if (!input.write(`{"id":${sent}}\n`)) break;
      }
    };
    input.on("drain", pump);
    pump();
    await eventually(() => input.isPaused());
    const [connection] = gateway.connections;
    assert.ok(connection);
    const taken = connection.frames.length;
    assert.ok(taken < total, `took ${taken}`);
    assert.equal(connection.channel.ready, false);
    open = true;
    for (const done of waiting) done();
    await eventually(() => connection.frames.length === total);
    await eventually(() => written === total * 10_003);
    await door.close();
  });

  it("writes only the protocol to the standard output, and exits at the end of input #cli.serve.stdio", async () => {
    const { started, exited, out, err } = child(program);
    started.stdin.write('{"id":1}\n');
    await eventually(() => out().includes("\n"));
    started.stdin.end('{"id":2}\n');
    assert.equal(await exited, 0);
    assert.equal(out(), '{"id":1}\n{"id":2}\n');
    assert.match(err(), /noise 8/);
    assert.match(err(), /more noise/);
    assert.match(err(), /over/);
  });

  it("exits without an error when the client has closed both pipes", async () => {
    const { started, exited, err } = child(program);
    started.stdin.write('{"id":1}\n');
    await eventually(() => err().includes("noise 8"));
    started.stdout.destroy();
    started.stdin.on("error", () => {});
    started.stdin.write('{"id":2}\n');
    assert.equal(await exited, 0, err());
  });
});
