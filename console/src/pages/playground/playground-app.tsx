// Owns: an app in the playground: what it reads and calls goes through the playground's connection, with the rights of its caller. Does not
// own: its frame (ui/app-frame.tsx).
import { appPageIn, mayAppCall } from "../../app-page.ts";
import type { AppCall, AppServer } from "../../mcp/app-host.ts";
import { useResource } from "../../resource.ts";
import { App } from "../../ui/app-frame.tsx";
import { ErrorNote, Loading } from "../../ui/states.tsx";
import { throughTask } from "./calls.ts";
import { client, lists } from "./connection.ts";

export function PlaygroundApp({ name, uri, call }: { readonly name: string; readonly uri: string; readonly call?: AppCall }) {
  const loaded = useResource(uri, async (signal) => {
    const result = await connection().request("resources/read", { uri }, { signal });
    return appPageIn(
      uri,
      result,
      lists.peek().resources?.find((one) => one["uri"] === uri),
    );
  });
  const { data, error } = loaded;
  if (error.value !== undefined) return <ErrorNote error={error.value} retry={loaded.reload} />;
  if (data.value === undefined) return <Loading what={`the app ${uri}`} />;
  return <App name={name} page={data.value} server={SERVER} call={call} />;
}

function connection() {
  const from = client.peek();
  if (from === undefined) throw new Error("The playground is not connected: connect it, and try again.");
  return from;
}

const SERVER: AppServer = {
  callTool: async (name, args) => {
    const from = connection();
    const definition = lists.peek().tools?.find((tool) => tool["name"] === name);
    if (!mayAppCall(definition)) throw new Error(`The tool ${name} is for models only.`);
    const first = await from.request("tools/call", { name, arguments: args }, definition === undefined ? {} : { definition });
    return await throughTask(from, first, () => undefined, new AbortController().signal);
  },
  readResource: (uri) => connection().request("resources/read", { uri }),
  list: (method, params) => connection().request(method, params),
};
