import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export interface OverHttp extends AsyncDisposable {
  readonly url: string;
}

// It listens on every address, at a port it is told: here it is to have a free one on loopback, and to say which.
const onLoopback = `data:text/javascript,${encodeURIComponent(`
  import { Server } from "node:net";
  const { listen } = Server.prototype;
  Server.prototype.listen = function (...given) {
    const ready = given.findLast((one) => typeof one === "function");
    return listen.call(this, { port: 0, host: "127.0.0.1" }, () => {
      console.error("PORT " + this.address().port);
      ready?.();
    });
  };
  // Where its test dies, so does it.
  process.stdin.on("end", () => process.exit(0)).resume();`)}`;

/** The official server, over streamable HTTP. */
export async function everythingOverHttp(program: string): Promise<OverHttp> {
  const child = spawn(process.execPath, ["--import", onLoopback, program, "streamableHttp"], { stdio: ["pipe", "ignore", "pipe"] });
  const ended = new Promise<void>((resolve) => void child.once("exit", () => resolve()));
  const lines = createInterface({ input: child.stderr });
  const port = await Promise.race([
    new Promise<string>((resolve) => {
      lines.on("line", (line) => {
        const found = /^PORT (\d+)$/.exec(line)?.[1];
        if (found !== undefined) resolve(found);
      });
    }),
    ended.then(() => undefined),
  ]);
  if (port === undefined) throw new Error("server-everything ended before it listened");
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
