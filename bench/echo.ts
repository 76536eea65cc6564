// The bare machine: read a JSON-RPC request, answer it with a constant result, which may be given. Nothing else is checked.
import { createServer } from "node:http";
import { answer, idIn, ONE } from "./echo-answer.ts";

const [, , given] = process.argv;
const result: object = given === undefined ? ONE : JSON.parse(given);
const server = createServer((request, response) => {
  let text = "";
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => (text += chunk));
  request.on("end", () => answer(response, idIn(text), result));
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(JSON.stringify({ ready: true, port: typeof address === "object" ? address?.port : 0 }));
});
