// Owns: one guest: its module, manifest, limits and measures, and stopping, restarting and checking it.
import { useSignal } from "@preact/signals";
import { Link } from "wouter-preact";
import type { GuestCheck, GuestDetail } from "../../../../src/bridges/console/shapes.ts";
import { can } from "../../about.ts";
import { actorPath, get, post } from "../../api.ts";
import { useAction } from "../../operation.ts";
import { useResource } from "../../resource.ts";
import { ActorLink } from "../../ui/actor-link.tsx";
import { Badge } from "../../ui/badge.tsx";
import { confirm } from "../../ui/confirm.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Fact, Facts } from "../../ui/facts.tsx";
import { JsonTree } from "../../ui/json-tree.tsx";
import { Panel } from "../../ui/panel.tsx";
import { guestStatus } from "./status.ts";
import { ErrorNote, Loaded } from "../../ui/states.tsx";
import { counted, bytes, duration, Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toasts.tsx";

export function Guest({
  of,
  onClose,
  changed,
}: {
  /** The key of its actor. */
  readonly of: string;
  readonly onClose: () => void;
  /** It was stopped or restarted. */
  readonly changed: () => void;
}) {
  const path = `/guests/${encodeURIComponent(of)}`;
  const resource = useResource(`guest ${of}`, (signal) => get<GuestDetail>(path, undefined, signal));
  return (
    <Panel title={of} label="Guest" onClose={onClose}>
      <Loaded resource={resource} what="the guest">
        {(guest) => (
          <>
            <Actions
              guest={guest}
              path={path}
              changed={() => {
                resource.reload();
                changed();
              }}
            />
            <Contents guest={guest} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function Actions({ guest, path, changed }: { readonly guest: GuestDetail; readonly path: string; readonly changed: () => void }) {
  const { id, key, status } = guest;
  const action = useAction();
  const check = useSignal<GuestCheck | undefined>(undefined);
  const stop = async (): Promise<void> => {
    const reason = await confirm({
      title: `Stop ${key}?`,
      text: "Its children stop with it. Its chain stays, and another may be started under this name.",
      action: "Stop the guest",
      danger: true,
      input: { label: "Reason", required: true },
    });
    if (reason === undefined) return;
    await action.act(async () => {
      await post(`${actorPath(id)}/stop`, { reason });
      toast(`Stopped ${key}.`);
      changed();
    });
  };
  const restart = (): Promise<void> =>
    action.act(async () => {
      await post(`${path}/restart`);
      toast(`Restarted ${key}.`);
      changed();
    });
  return (
    <>
      <div class="row actions">
        <Link class="button small" href={`/actors/${id}`}>
          Open its actor
        </Link>
        {can("run") && status !== "stopped" ? (
          <>
            <button type="button" class="small" disabled={action.busy} onClick={() => void restart()}>
              {status === "paused" ? "Resume" : "Restart"}
            </button>
            <button type="button" class="small danger" disabled={action.busy} onClick={() => void stop()}>
              Stop
            </button>
          </>
        ) : null}
        {can("run") ? (
          <button
            type="button"
            class="small"
            title="Runs the calls of its chain again, and compares"
            disabled={action.busy}
            onClick={() => void action.act(async () => void (check.value = await post<GuestCheck>(`${path}/check`)))}
          >
            Check calls
          </button>
        ) : null}
      </div>
      {action.error === undefined ? null : <ErrorNote error={action.error} />}
      {check.value === undefined ? null : <Checked check={check.value} />}
    </>
  );
}

function Checked({ check: { run, mismatches, more, taken } }: { readonly check: GuestCheck }) {
  const left = Object.entries(taken).filter(([, count]) => count > 0);
  return (
    <div class="checked" role="status">
      <p>
        <Badge word={mismatches.length === 0 ? "ok" : "error"} /> {run.toLocaleString()} {run === 1 ? "call was" : "calls were"} run again.{" "}
        {mismatches.length === 0 ? "All did what was recorded." : `${counted(mismatches.length + more, "difference")}:`}
      </p>
      {mismatches.length === 0 ? null : <JsonTree value={mismatches.map((one) => ({ ...one }))} label="Differences" />}
      {left.length === 0 ? null : (
        <p class="dim">Not run, but taken from the record: {left.map(([why, count]) => `${count} (${why})`).join(", ")}.</p>
      )}
    </div>
  );
}

function Contents({ guest }: { readonly guest: GuestDetail }) {
  const { why, name, origin, component, manifest, parent, children, channels, requests, calls, queued, measured, createdAt } = guest;
  const { manifestOf: known, lastAt } = guest;
  return (
    <>
      <Facts>
        <Fact name="Status">
          <Badge word={guestStatus(guest)} />
        </Fact>
        <Fact name="Why">{why}</Fact>
        <Fact name="Manifest">
          {name} <span class="dim">{[known?.version, origin].filter((part) => part !== undefined).join(", ")}</span>
        </Fact>
        <Fact name="About">{known?.description}</Fact>
        <Fact name="Module">
          <Digest of={component} what="the module's hash" />
        </Fact>
        <Fact name="Manifest hash">
          <Digest of={manifest} what="the manifest's hash" />
        </Fact>
        <Fact name="Supervisor">{parent === undefined ? "none: a client started it" : <ActorLink id={parent} />}</Fact>
        <Fact name="Children">{children.length === 0 ? "none" : children.map((child) => <ActorLink key={child} id={child} />)}</Fact>
        <Fact name="Open channels">{channels.toLocaleString()}</Fact>
        <Fact name="Requests to answer">{requests.toLocaleString()}</Fact>
        <Fact name="Waiting">{queued === undefined ? undefined : queued.toLocaleString()}</Fact>
        <Fact name="Calls">
          {calls.toLocaleString()}
          {measured === undefined ? null : (
            <span class="dim">
              {" "}
              {measured.failed.toLocaleString()} failed since the server started; {duration(measured.minMs)} to {duration(measured.maxMs)}{" "}
              each
            </span>
          )}
        </Fact>
        <Fact name="Memory">
          {measured?.memoryBytes === undefined ? undefined : bytes(measured.memoryBytes)}
          {known === undefined ? null : <span class="dim"> of at most {bytes(known.limits.memoryBytes)}</span>}
        </Fact>
        <Fact name="Time limit">{known === undefined ? undefined : `${duration(known.limits.callMs)} for each call`}</Fact>
        <Fact name="After a failure">
          {known === undefined
            ? undefined
            : known.onError === "pause"
              ? "it pauses until it is restarted"
              : "it goes on from its last state"}
        </Fact>
        <Fact name="Granted">{known === undefined ? undefined : known.grants.length === 0 ? "nothing" : known.grants.join(", ")}</Fact>
        <Fact name="Began">
          <Time at={createdAt} />
        </Fact>
        <Fact name="Last call">
          <Time at={lastAt} />
        </Fact>
      </Facts>
      <h3>Manifest</h3>
      {known === undefined ? (
        <p class="dim">Its text is not in the content store here.</p>
      ) : (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls
        <pre class="raw" tabIndex={0}>
          {known.text}
        </pre>
      )}
    </>
  );
}

const Digest = ({ of, what }: { readonly of: string; readonly what: string }) => (
  <>
    <code>{of.slice(0, 16)}</code> <CopyButton text={of} what={what} />
  </>
);
