// Owns: the line that says how the playground is connected, and lets the user choose. Does not own: the connection (connection.ts).
import { useSignal } from "@preact/signals";
import { objectIn, REVISIONS, textIn } from "../../mcp/wire.ts";
import { Badge } from "../../ui/badge.tsx";
import { client, connect, disconnect, otherToken, problem, revision, status } from "./connection.ts";

const WORDS = { closed: "off", connecting: "connecting", open: "connected", lost: "lost", failed: "failed" } as const;

export function ConnectionBar() {
  const secret = useSignal("");
  const as = otherToken.value === undefined ? "console" : otherToken.value === "" ? "nobody" : "token";
  const asking = useSignal(as === "token");
  const server = client.value?.server;
  const info = objectIn(server, "serverInfo");
  const named = Object.keys(info).length > 0 ? info : objectIn(objectIn(server, "_meta"), "io.modelcontextprotocol/serverInfo");
  const choose = (choice: string): void => {
    asking.value = choice === "token";
    if (choice === "token") return;
    otherToken.value = choice === "nobody" ? "" : undefined;
    void connect();
  };
  return (
    <>
      <div class="connection">
        <label>
          <span>Protocol</span>
          <select
            value={revision.value}
            onChange={(event) => {
              revision.value = event.currentTarget.value;
              void connect();
            }}
          >
            {REVISIONS.map((one) => (
              <option key={one} value={one}>
                {one}
                {one >= "2026" ? " (stateless)" : " (session)"}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span>Connect as</span>
          <select value={asking.value ? "token" : as} onChange={(event) => choose(event.currentTarget.value)}>
            <option value="console">with the console's sign-in</option>
            <option value="token">with another token or key</option>
            <option value="nobody">without a token</option>
          </select>
        </label>
        {asking.value ? (
          <form
            class="row"
            onSubmit={(event) => {
              event.preventDefault();
              otherToken.value = secret.value.trim();
              void connect();
            }}
          >
            <input
              type="password"
              autocomplete="off"
              aria-label="Token or API key"
              placeholder="Token or API key"
              required
              value={secret.value}
              onInput={(event) => (secret.value = event.currentTarget.value)}
            />
            <button type="submit">Connect</button>
          </form>
        ) : null}
        <span class="grow" />
        <span class="connection-state" role="status">
          {status.value === "open" ? (
            <span class="dim">
              {textIn(named, "title") ?? textIn(named, "name")} {textIn(named, "version")}
            </span>
          ) : null}
          <Badge word={WORDS[status.value]} />
        </span>
        {status.value === "open" || status.value === "connecting" ? (
          <button type="button" onClick={disconnect}>
            Disconnect
          </button>
        ) : (
          <button type="button" class="primary" onClick={() => void connect()}>
            Connect
          </button>
        )}
      </div>
      {problem.value === undefined ? null : (
        <div class="state error" role="alert">
          <strong>{problem.value}</strong>
          {status.value === "open" ? null : (
            <button type="button" onClick={() => void connect()}>
              Connect again
            </button>
          )}
        </div>
      )}
    </>
  );
}
