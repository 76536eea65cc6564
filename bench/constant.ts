// A server that sends the same bytes, whatever it is asked.
import { createServer } from "node:http";

const [, , body = ""] = process.argv;
const bytes = Buffer.from(body);

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-type": "application/json", "content-length": bytes.length });
    response.end(bytes);
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(JSON.stringify({ ready: true, port: typeof address === "object" ? address?.port : 0 }));
});
