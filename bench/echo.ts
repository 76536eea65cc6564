// The bare machine: read a JSON-RPC request, answer it with a constant result. Nothing else is checked.
import { createServer } from "node:http";

const server = createServer((request, response) => {
  let text = "";
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => (text += chunk));
  request.on("end", () => {
    const message: unknown = JSON.parse(text);
    const id = typeof message === "object" && message !== null && "id" in message ? message.id : null;
    const body = JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "1" }] } });
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(JSON.stringify({ ready: true, port: typeof address === "object" ? address?.port : 0 }));
});
