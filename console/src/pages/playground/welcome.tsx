// Owns: what the playground shows before anything is chosen: what the server says about itself.
import { objectIn, textIn } from "../../json.ts";
import { JsonTree } from "../../ui/json-tree.tsx";
import { Empty } from "../../ui/states.tsx";
import { client } from "./connection.ts";

export function Welcome() {
  const server = client.value?.server;
  if (server === undefined) return <Empty title="Not connected">Connect to see what this server offers.</Empty>;
  const instructions = textIn(server, "instructions");
  return (
    <>
      <Empty title="Choose a tool, a resource or a prompt">
        Calls go over the same transport as those of any other client. What they change appears under Actors.
      </Empty>
      {instructions === undefined ? null : (
        <>
          <h2>The server's instructions for models</h2>
          <p class="prose">{instructions}</p>
        </>
      )}
      <h2>Its capabilities</h2>
      <JsonTree label="Capabilities of the server" value={objectIn(server, "capabilities")} />
    </>
  );
}
