// The minimal server of a list: reads the request, looks up its session, and sends the same list with the id of the request.
import { idIn } from "./echo-answer.ts";
import { readyWith } from "./ready.ts";

const [, , result = "", id = ""] = process.argv;
const sessions = new Map([[id, {}]]);
const list = Buffer.from(`${result}}`);

readyWith((text, response, request) => {
  const known = sessions.has(String(request.headers["mcp-session-id"]));
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(idIn(text))},"result":`;
  response.writeHead(known ? 200 : 404, { "content-type": "application/json", "content-length": head.length + list.length });
  response.cork();
  response.write(head);
  response.end(list);
});
