// A server that sends the same bytes in reply to every request.
import { createServer } from "node:http";
import { ready } from "./ready.ts";

const [, , body = ""] = process.argv;
const bytes = Buffer.from(body);

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-type": "application/json", "content-length": bytes.length });
    response.end(bytes);
  });
});
ready(server);
