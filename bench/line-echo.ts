// The bare echo by lines: reads a JSON-RPC request and answers with a constant result. Over TCP, or over stdio with `--stdio`.
import { createServer } from "node:net";
import { idIn, ONE } from "./echo-answer.ts";
import { ready } from "./ready.ts";

/** Answers all lines of a chunk at once, and buffers an incomplete line. */
const answering = (write: (text: string) => void): ((chunk: string) => void) => {
  let text = "";
  return (chunk) => {
    const lines = (text + chunk).split("\n");
    text = lines.pop() ?? "";
    const answers = lines.map((line) => `${JSON.stringify({ jsonrpc: "2.0", id: idIn(line), result: ONE })}\n`);
    if (answers.length > 0) write(answers.join(""));
  };
};

if (process.argv.includes("--stdio")) {
  process.stdin.setEncoding("utf8").on(
    "data",
    answering((text) => process.stdout.write(text)),
  );
} else {
  const server = createServer((socket) => {
    socket
      .setNoDelay(true)
      .setEncoding("utf8")
      .on(
        "data",
        answering((text) => socket.write(text)),
      );
  });
  ready(server);
}
