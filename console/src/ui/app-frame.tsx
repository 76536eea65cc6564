// Owns: an MCP App in a frame of its own origin, with its size, its policy and its messages. Does not own: what runs in it (app-session.ts),
// and where its data comes from (an `AppServer`).
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AppDocument, AppInput } from "../../../src/bridges/console/shapes.ts";
import { post } from "../api.ts";
import type { AppPage } from "../app-page.ts";
import { BASE } from "../base-path.ts";
import { objectIn } from "../json.ts";
import type { AppCall, AppServer } from "../mcp/app-host.ts";
import { useParameter } from "../page-state.ts";
import { useResource } from "../resource.ts";
import { isDark } from "../theme.ts";
import { type AppMessage, AppSession } from "./app-session.ts";
import { Badge } from "./badge.tsx";
import { cut } from "./cut.ts";
import { JsonTree } from "./json-tree.tsx";
import { ErrorNote, Loading } from "./states.tsx";
import "./app-frame.css";

const SIZES = [
  { id: "phone", label: "Phone", width: "390px" },
  { id: "tablet", label: "Tablet", width: "768px" },
  { id: "", label: "Wide", width: "100%" },
] as const;

interface AppProps {
  /** What it is, for people: the name of its tool, or of its resource. */
  readonly name: string;
  readonly page: AppPage;
  readonly server: AppServer;
  /** The call whose result it shows. */
  readonly call?: AppCall | undefined;
  /** Another one: what the app has read may have changed. */
  readonly version?: number;
}

export function App(props: AppProps) {
  const { html, ui, uri } = props.page;
  const input: AppInput = { html, csp: objectIn(ui, "csp") };
  const stored = useResource<AppDocument>(JSON.stringify(input), (signal) => post("/apps", input, signal));
  const starts = useSignal(0);
  const { error, data } = stored;
  if (error.value !== undefined) return <ErrorNote error={error.value} retry={stored.reload} />;
  if (data.value === undefined) return <Loading what={`the app ${uri}`} />;
  const restart = (): void => {
    // The server may have dropped the document.
    stored.reload();
    starts.value += 1;
  };
  return <Running key={`${data.value.id} ${starts.value}`} {...props} stored={data.value} restart={restart} />;
}

interface RunningProps extends AppProps {
  readonly stored: AppDocument;
  readonly restart: () => void;
}

function Running({ name, page, server, call, version, stored, restart }: RunningProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [session] = useState(() => new AppSession(server, call, () => frame.current));
  const { status, reason, mode, height, modelContext } = session;
  const [sizeId, setSize] = useParameter("size");
  const size = SIZES.find(({ id }) => id === sizeId) ?? SIZES[2];
  const isStopped = status.value === "stopped";
  const isFull = mode.value === "fullscreen";
  const dark = isDark.value;

  // Before the frame can have sent anything.
  useLayoutEffect(() => {
    const receive = (event: MessageEvent<unknown>): void => session.receive(event);
    addEventListener("message", receive);
    return () => removeEventListener("message", receive);
  }, [session]);
  useEffect(() => session.host.show(call), [session, call]);
  useEffect(() => session.host.resourcesChanged(), [session, version]);
  useEffect(() => session.contextChanged(), [session, dark, isFull, size.id]);
  useEffect(() => {
    if (!isFull) return undefined;
    const press = ({ key }: KeyboardEvent): void => {
      if (key === "Escape" && document.querySelector("dialog[open]") === null) session.mode.value = "inline";
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [session, isFull]);

  return (
    <section class={`app ${mode.value}`} aria-label={`App of ${name}`}>
      <div class="row app-bar">
        <strong>App</strong>
        <code>{page.uri}</code>
        <Badge word={status.value} />
        <span class="grow" />
        <div class="segments" role="group" aria-label="Width of the app">
          {SIZES.map(({ id, label }) => (
            <button key={id} type="button" class="small" aria-pressed={size.id === id} onClick={() => setSize(id)}>
              {label}
            </button>
          ))}
        </div>
        <button
          type="button"
          class="small"
          aria-pressed={isFull}
          disabled={isStopped}
          onClick={() => (mode.value = isFull ? "inline" : "fullscreen")}
        >
          Full screen
        </button>
        <button type="button" class="small" onClick={restart}>
          Start again
        </button>
      </div>
      {isStopped ? (
        <p class="note" role="status">
          The app was stopped. {reason.value}
        </p>
      ) : (
        <div class="app-box">
          <iframe
            ref={frame}
            title={`App of ${name}`}
            // Without allow-same-origin: it has an origin of its own, and neither this page's storage nor its API.
            sandbox="allow-scripts allow-forms"
            referrerpolicy="no-referrer"
            src={`${BASE}/app/${stored.id}`}
            style={{ width: size.width, height: isFull ? "100%" : `${height.value}px` }}
            onLoad={() => session.host.loaded()}
          />
        </div>
      )}
      <Policy session={session} page={page} stored={stored} />
      {modelContext.value === undefined ? null : (
        <details>
          <summary>What it added to the model's context</summary>
          <JsonTree label="The model's context" value={modelContext.value} />
        </details>
      )}
      <Messages messages={session.messages} />
    </section>
  );
}

function Policy({
  session: { blocked },
  page,
  stored: { policy, ignored },
}: {
  readonly session: AppSession;
  readonly page: AppPage;
  readonly stored: AppDocument;
}) {
  const permissions = Object.keys(objectIn(page.ui, "permissions"));
  const requests = blocked.value.filter(({ uri }) => uri !== "eval");
  return (
    <>
      {requests.length === 0 ? null : (
        <div class="note" role="status">
          <strong>Its content security policy blocked:</strong>
          <ul class="app-lines">
            {requests.map(({ directive, uri }) => (
              <li key={`${directive} ${uri}`}>
                <code>{cut(uri, 200)}</code> by <code>{cut(directive, 50)}</code>
              </li>
            ))}
          </ul>
          <span>
            An app reaches the domains that its resource declares in <code>_meta.ui.csp</code>.
          </span>
        </div>
      )}
      <details>
        <summary>Its content security policy</summary>
        <ul class="app-lines">
          {policy.split("; ").map((directive) => (
            <li key={directive}>
              <code>{directive}</code>
            </li>
          ))}
        </ul>
        {ignored.length === 0 ? null : (
          <p>
            Left out, since they are no domains: <code>{ignored.join(", ")}</code>
          </p>
        )}
        {blocked.value.length === requests.length ? null : (
          <p>It tried to run text as code, which is blocked. Libraries often only test that.</p>
        )}
        {permissions.length === 0 ? null : <p>It requests {permissions.join(", ")}: the console grants none.</p>}
      </details>
    </>
  );
}

/** They are drawn only while they are visible: an app may send a hundred a second. */
function Messages({ messages }: { readonly messages: ReadonlySignal<readonly AppMessage[]> }) {
  const open = useSignal(false);
  return (
    <details onToggle={({ currentTarget }) => (open.value = currentTarget.open)}>
      <summary>Its messages</summary>
      {open.value ? <MessageRows messages={messages.value} /> : null}
    </details>
  );
}

const MessageRows = ({ messages }: { readonly messages: readonly AppMessage[] }) =>
  messages.length === 0 ? (
    <p class="dim">It has sent none yet. An app begins with ui/initialize.</p>
  ) : (
    <ol class="app-lines app-messages">
      {messages.map(({ n, from, method, content }) => (
        <li key={n}>
          <details>
            <summary>
              {from === "app" ? "app →" : "→ app"} <code>{cut(method, 100)}</code>
            </summary>
            <JsonTree label={`Content of ${cut(method, 100)}`} value={content} />
          </details>
        </li>
      ))}
    </ol>
  );
