// Owns: the dialog that says how clients connect to this server. Does not own: what they need (connect-ways.ts).
import { useSignal } from "@preact/signals";
import { about } from "./about.ts";
import { clientName, waysTo } from "./connect-ways.ts";
import { CopyButton } from "./ui/copy.tsx";
import { Modal } from "./ui/dialog.tsx";
import "./connect-dialog.css";

export function ConnectDialog({ close }: { readonly close: () => void }) {
  const chosen = useSignal("claude-code");
  const { mcp = "/mcp", name = "", authenticated = false } = about.value ?? {};
  const url = new URL(mcp, location.origin).href;
  const ways = waysTo({ name: clientName(name), url, authenticated });
  const way = ways.find(({ id }) => id === chosen.value) ?? ways[0];
  return (
    <Modal class="dialog connect" labelledBy="connect-title" close={close}>
      <div class="row">
        <h2 id="connect-title">Connect a client</h2>
        <span class="grow" />
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      <p class="row address">
        <code>{url}</code>
        <CopyButton text={url} what="the address" />
      </p>
      {authenticated ? (
        <p class="dim">
          Clients sign in with a key or token. It is in the environment variable <code>TROUPE_TOKEN</code> here.
        </p>
      ) : null}
      <div class="connect-ways">
        <div class="ways" role="group" aria-label="Client">
          {ways.map(({ id, title }) => (
            <button key={id} type="button" class="quiet" aria-pressed={id === way?.id} onClick={() => (chosen.value = id)}>
              {title}
            </button>
          ))}
        </div>
        {way === undefined ? null : (
          <section aria-label={way.title} class="way">
            {way.link === undefined ? null : (
              <a class="button primary" href={way.link}>
                Add to {way.title}
              </a>
            )}
            {way.parts.map(({ what, text }) => (
              <div key={what}>
                <div class="row">
                  <h3>{what}</h3>
                  <span class="grow" />
                  <CopyButton text={text} what={`the text for ${way.title}: ${what}`} />
                </div>
                {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard */}
                <pre tabIndex={0} aria-label={what}>
                  {text}
                </pre>
              </div>
            ))}
            {way.note === undefined ? null : <p class="dim">{way.note}</p>}
          </section>
        )}
      </div>
    </Modal>
  );
}
