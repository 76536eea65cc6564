// Owns: the line that says how the playground is connected, and lets the user choose. Does not own: the connection (connection.ts).
import { useSignal } from "@preact/signals";
import { objectIn, textIn } from "../../json.ts";
import { REVISIONS } from "../../mcp/wire.ts";
import { Badge } from "../../ui/badge.tsx";
import { useParameter } from "../../page-state.ts";
import { principalName } from "../../ui/who.tsx";
import { ViewerPicker } from "../../ui/viewer-picker.tsx";
import { can, whyNot } from "../../about.ts";
import { callerInAddress, claimsOf, remember, useViewer } from "../../viewer.ts";
import { client, connect, disconnect, identity, isSameIdentity, problem, revision, status } from "./connection.ts";

const WORDS = { closed: "off", connecting: "connecting", open: "connected", lost: "lost", failed: "failed" } as const;

export function ConnectionBar() {
  const secret = useSignal("");
  const { value: as } = identity;
  const [by, setBy] = useParameter("by", "console");
  const server = client.value?.server;
  const info = objectIn(server, "serverInfo");
  const named = Object.keys(info).length > 0 ? info : objectIn(objectIn(server, "_meta"), "io.modelcontextprotocol/serverInfo");
  const choose = (choice: string): void => {
    setBy(choice);
    // The others need to be filled in first.
    if (choice === "console" || choice === "none") void connect({ by: choice });
  };
  return (
    <>
      <div class="connection">
        <label>
          <span>Protocol revision</span>
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
          <select value={by} onChange={(event) => choose(event.currentTarget.value)}>
            <option value="console">with the console's sign-in</option>
            <option value="viewer" disabled={!can("connect-as")} title={can("connect-as") ? undefined : whyNot("connect-as")}>
              any user
            </option>
            <option value="token">with another token or key</option>
            <option value="none">without a token</option>
          </select>
        </label>
        {by === "token" ? (
          <form
            class="row"
            onSubmit={(event) => {
              event.preventDefault();
              void connect({ by: "token", token: secret.value.trim() });
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
              {as.by === "viewer" ? `as ${principalName(as.viewer.principal)}, to ` : ""}
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
      {by === "viewer" && can("connect-as") ? <ConnectAsViewer /> : null}
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

/** Typing connects to nothing: a session may own actors. */
function ConnectAsViewer() {
  const viewer = useViewer();
  const { principal, scopes, claims } = viewer;
  const isConnected = status.value === "open" && isSameIdentity(identity.value, { by: "viewer", viewer: { principal, scopes, claims } });
  return (
    <form
      class="connect-viewer"
      onSubmit={(event) => {
        event.preventDefault();
        const chosen = callerInAddress();
        if (claimsOf(chosen.claims) === undefined) return;
        remember(chosen);
        void connect({ by: "viewer", viewer: chosen });
      }}
    >
      <ViewerPicker viewer={viewer} principals={[]} withClient={false} />
      <button type="submit" class={isConnected ? "" : "primary"} disabled={isConnected || claimsOf(claims) === undefined}>
        {isConnected ? "Connected" : "Connect"} as {principalName(principal)}
      </button>
    </form>
  );
}
