// The least a server of a list does: it reads the request, finds its session, and sends the same list under the id that asks.
import { createServer } from "node:http";
import { idIn } from "./echo-answer.ts";

const [, , result = "", id = ""] = process.argv;
const sessions = new Map([[id, {}]]);
const list = Buffer.from(`${result}}`);

const server = createServer((request, response) => {
  let text = "";
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => (text += chunk));
  request.on("end", () => {
    const known = sessions.has(String(request.headers["mcp-session-id"]));
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(idIn(text))},"result":`;
    response.writeHead(known ? 200 : 404, { "content-type": "application/json", "content-length": head.length + list.length });
    response.cork();
    response.write(head);
    response.end(list);
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(JSON.stringify({ ready: true, port: typeof address === "object" ? address?.port : 0 }));
});
