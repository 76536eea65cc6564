// The bare machine by lines: read a JSON-RPC request, answer it with a constant result. Over TCP, or with `--stdio` there.
import { createServer } from "node:net";

/** Answers all lines of a chunk at once, and keeps what is not a line yet. */
const answering = (write: (text: string) => void): ((chunk: string) => void) => {
  let text = "";
  return (chunk) => {
    const lines = (text + chunk).split("\n");
    text = lines.pop() ?? "";
    const answers = lines.map((line) => {
      const message: unknown = JSON.parse(line);
      const id = typeof message === "object" && message !== null && "id" in message ? message.id : null;
      return `${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "1" }] } })}\n`;
    });
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
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    console.log(JSON.stringify({ ready: true, port: typeof address === "object" ? address?.port : 0 }));
  });
}
