// From a caller in this process to a guest in a worker and back: by the engine, by Theater's stage, by MCP.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { ActorId } from "troupe/contract";
import type { BenchOptions } from "./options.ts";
import { bytes, COUNTER, ECHO, connectMcp, MANIFEST, never, openStage, type StageOptions, wasm } from "./guests-stage.ts";
import { timeCalls, tails } from "./guests-table.ts";

const CALLS = 200;
const END_TO_END_US = 100;

const DATA = bytes("A message to a guest, which has sixty-four bytes, as an example.");
const PLAIN: ActorId = "plain/main";
const PLAIN_DISK: ActorId = "plain-disk/main";

const startStage = async (options: StageOptions) => {
  const on = await openStage(options);
  await on.stage.start({ manifest: MANIFEST, component: wasm(ECHO), name: "echo" });
  await on.stage.start({ manifest: MANIFEST, component: wasm(COUNTER), name: "counter" });
  return on;
};

/** The lower bound for a call of another thread: a worker that returns its message. */
const bareWorker = () => {
  const worker = new Worker('const { parentPort: p } = require("node:worker_threads"); p.on("message", (m) => p.postMessage(m))', {
    eval: true,
  });
  return {
    ask: (): Promise<unknown> => {
      const answer = once(worker, "message");
      worker.postMessage({ kind: "call", call: 1, guest: "guest/echo", data: DATA }, []);
      return answer;
    },
    [Symbol.asyncDispose]: async (): Promise<void> => void (await worker.terminate()),
  };
};

export const ends = async (folder: string, { quick }: BenchOptions): Promise<void> => {
  await using memory = await startStage({ workers: 1 });
  await using disk = await startStage({ workers: 1, directory: folder });
  await using thread = bareWorker();
  await using mcp = await connectMcp(memory.stage);
  const params = { name: "request_message", arguments: { actor_id: "echo", data: Buffer.from(DATA).toString("base64") } };
  if (!(await mcp.ask("tools/call", params)).includes("as an example.")) throw new Error("request_message did not echo.");
  const add = { to: "guest/counter", action: "send", args: { data: Buffer.from("add").toString("base64") } } as const;
  const [there = [], requested = [], byMcp = [], changed = [], plain = [], requestedOnDisk = [], changedOnDisk = [], plainOnDisk = []] =
    await timeCalls(
      quick ? 3 : 15,
      CALLS,
      () => thread.ask(),
      () => memory.stage.request("echo", DATA, never),
      () => mcp.ask("tools/call", params),
      () => memory.engine.call(add),
      () => memory.engine.call({ to: PLAIN, action: "add", args: {}, start: null }),
      () => disk.stage.request("echo", DATA, never),
      () => disk.engine.call(add),
      () => disk.engine.call({ to: PLAIN_DISK, action: "add", args: {}, start: null }),
    );
  tails("in memory: a request to a guest through the stage, answered", requested, END_TO_END_US);
  tails("in memory: request_message through the MCP gateway, from text to text", byMcp, END_TO_END_US);
  tails("a message to a bare worker and back", there);
  tails("in memory: a send that changes its state, until its event is there", changed);
  tails("in memory: a TypeScript actor's call on the same engine", plain);
  tails("on disk: a request to a guest through the stage, answered", requestedOnDisk);
  tails("on disk: a send that changes its state, until state and event are there", changedOnDisk);
  tails("on disk: a TypeScript actor's call on the same store", plainOnDisk);
};
