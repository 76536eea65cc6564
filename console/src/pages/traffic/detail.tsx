// Owns: one request with its messages, as they were sent. Does not own: hiding secrets, which the server does.
import type { ComponentChildren } from "preact";
import { useSignal } from "@preact/signals";
import { Link } from "wouter-preact";
import type { TrafficDetail, TrafficRow } from "../../../../src/bridges/console/shapes.ts";
import { about } from "../../about.ts";
import { actorPath, get } from "../../api.ts";
import { download } from "../../download.ts";
import { isObject } from "../../json.ts";
import { sessionLabel } from "../../session-label.ts";
import { useResource } from "../../resource.ts";
import { ActorLink } from "../../ui/actor-link.tsx";
import { Badge } from "../../ui/badge.tsx";
import { copyText } from "../../ui/copy.tsx";
import { Fact, Facts } from "../../ui/facts.tsx";
import { JsonTree } from "../../ui/json-tree.tsx";
import { Panel } from "../../ui/panel.tsx";
import { ErrorNote, Loading } from "../../ui/states.tsx";
import { bytes, duration, Time } from "../../ui/time.tsx";
import { eraLabel, transportLabel } from "./filter.ts";
import { asCurl, asPlaygroundPath } from "./curl.ts";

export const Detail = ({
  detail,
  onClose,
  children,
}: {
  readonly detail: TrafficDetail;
  readonly onClose: () => void;
  /** Below the facts. */
  readonly children?: ComponentChildren;
}) => (
  <Panel title={<Title row={detail} />} label="Request" onClose={onClose}>
    <Contents detail={detail}>{children}</Contents>
  </Panel>
);

/** Loaded from the server, which has it as long as it stores it. */
export function LiveDetail({
  n,
  row,
  onClose,
}: {
  readonly n: string;
  readonly row: TrafficRow | undefined;
  readonly onClose: () => void;
}) {
  // A request that was running is loaded again when it has ended.
  const { data, error, reload } = useResource(`traffic ${n} ${row?.status ?? ""}`, (signal) =>
    get<TrafficDetail>(`/traffic/${encodeURIComponent(n)}`, undefined, signal),
  );
  if (data.value !== undefined && String(data.value.n) === n && error.value === undefined)
    return (
      <Detail detail={data.value} onClose={onClose}>
        <Caused detail={data.value} />
      </Detail>
    );
  return (
    <Panel title={`Request ${n}`} label="Request" onClose={onClose}>
      {error.value === undefined ? <Loading what="the request" /> : <ErrorNote error={error.value} retry={reload} />}
    </Panel>
  );
}

function Caused({ detail: { events, method, direction, status } }: { readonly detail: TrafficDetail }) {
  if (events === undefined) {
    const changes = direction === "in" && method === "tools/call" && status !== "running";
    return changes ? <p class="dim">It caused no event: nothing was committed.</p> : null;
  }
  return (
    <>
      <h3>Events it caused</h3>
      <ul class="caused">
        {events.map(({ actor, seq }) => (
          <li key={`${actor} ${seq}`}>
            <Link href={`${actorPath(actor)}?tab=history&at=${seq}`}>event {seq.toLocaleString()}</Link> of <ActorLink id={actor} />
          </li>
        ))}
      </ul>
    </>
  );
}

const Title = ({ row: { method, name } }: { readonly row: TrafficRow }) => (
  <>
    {method} {name === undefined ? null : <span class="mono">{name}</span>}
  </>
);

function Contents({ detail, children }: { readonly detail: TrafficDetail; readonly children: ComponentChildren }) {
  const { actor, waitedMs, ranMs } = detail;
  const { at, ms, session, client, principal, peer, transport, era, status, requestBytes, responseBytes, error, responses, direction } =
    detail;
  return (
    <>
      <Actions detail={detail} />
      <Facts>
        <Fact name="Status">
          <Badge word={status} />
        </Fact>
        <Fact name="Error">
          {error === undefined ? undefined : error.code === undefined ? error.message : `${error.message} (${error.code})`}
        </Fact>
        <Fact name="Code">{detail.code === undefined ? undefined : <code>{detail.code}</code>}</Fact>
        <Fact name="When">
          <Time at={at} />
        </Fact>
        <Fact name="Took">{ms === undefined ? undefined : duration(ms)}</Fact>
        <Fact name="Waited">{waitedMs === undefined ? undefined : `${duration(waitedMs)}, until its actor was free`}</Fact>
        <Fact name="Ran">{ranMs === undefined ? undefined : duration(ranMs)}</Fact>
        <Fact name="Actor">{actor === undefined ? undefined : <ActorLink id={actor} />}</Fact>
        <Fact name="Size">
          {responseBytes === undefined ? bytes(requestBytes) : `${bytes(requestBytes)} in, ${bytes(responseBytes)} out`}
        </Fact>
        <Fact name="From">{direction === "in" ? "client to server" : "server to client"}</Fact>
        <Fact name="Client">{client}</Fact>
        <Fact name="Session">
          {session === undefined ? undefined : (
            <Link href={`/traffic?session=${encodeURIComponent(session)}`}>{sessionLabel(session)}</Link>
          )}
        </Fact>
        <Fact name="Principal">
          {principal === undefined ? undefined : <Link href={`/traffic?principal=${encodeURIComponent(principal)}`}>{principal}</Link>}
        </Fact>
        <Fact name="Over">
          {[
            transportLabel(transport),
            era === undefined ? [] : era === "modern" ? `stateless (${eraLabel(era)})` : `with a session (${eraLabel(era)})`,
            peer ?? [],
          ]
            .flat()
            .join(", ")}
        </Fact>
      </Facts>
      {children}
      <h3>{direction === "in" ? "Request" : "Message"}</h3>
      <Message text={detail.request} cut={detail.requestCut === true} label="request" open />
      {responses.length === 0 ? null : <h3>{responses.length === 1 ? "Response" : `${responses.length} messages of the response`}</h3>}
      <ol class="messages">
        {responses.map((response, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- messages are only added at the end
          <li key={index}>
            {responses.length === 1 ? null : (
              <span class="message-time mono dim" title={new Date(response.at).toISOString()}>
                +{duration(Math.max(0, response.at - at))}
              </span>
            )}
            <Message text={response.text} cut={response.cut === true} label={`message ${index + 1}`} open={responses.length < 4} />
          </li>
        ))}
      </ol>
      <Headers title="Request headers" headers={detail.requestHeaders} />
      <Headers
        title={detail.responseStatus === undefined ? "Response headers" : `Response headers, status ${detail.responseStatus}`}
        headers={detail.responseHeaders}
      />
    </>
  );
}

function Actions({ detail }: { readonly detail: TrafficDetail }) {
  const playground = asPlaygroundPath(detail.request);
  const url = new URL(about.value?.mcp ?? "/mcp", location.origin).href;
  return (
    <div class="row actions">
      {playground === undefined ? null : (
        <Link class="button small" href={playground}>
          Repeat in the playground
        </Link>
      )}
      {detail.direction === "in" && detail.transport === "http" ? (
        <button type="button" class="small" onClick={() => void copyText(asCurl(detail, url), "the curl command")}>
          Copy as curl
        </button>
      ) : null}
      <button type="button" class="small" onClick={() => download(`request-${detail.n}.json`, detail)}>
        Save
      </button>
    </div>
  );
}

function Headers({ title, headers }: { readonly title: string; readonly headers: Readonly<Record<string, string>> }) {
  const entries = Object.entries(headers).toSorted(([one], [other]) => one.localeCompare(other));
  if (entries.length === 0) return null;
  return (
    <details>
      <summary>
        {title} <span class="dim">{entries.length}</span>
      </summary>
      <dl class="headers mono">
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class={value === "[hidden]" ? "dim" : ""}>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** One message, as a tree or as it was sent. */
function Message({
  text,
  label,
  cut = false,
  open,
}: {
  readonly text: string;
  readonly label: string;
  readonly cut?: boolean;
  readonly open: boolean;
}) {
  const raw = useSignal(false);
  const value = parse(text);
  return (
    <details class="message" open={open}>
      <summary>{value === undefined ? label : summaryOf(value.json)}</summary>
      <div class="row end message-tools">
        <button
          type="button"
          class="small quiet"
          disabled={value === undefined}
          aria-pressed={raw.value}
          onClick={() => (raw.value = !raw.value)}
        >
          Raw
        </button>
        <button type="button" class="small quiet" onClick={() => void copyText(text, `the ${label}`)}>
          Copy
        </button>
      </div>
      {value === undefined || raw.value ? (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls
        <pre class="raw" tabIndex={0}>
          {text}
        </pre>
      ) : (
        <JsonTree value={value.json} label={label} />
      )}
      {cut ? <p class="dim">The rest was too long to be stored.</p> : null}
    </details>
  );
}

function parse(text: string) {
  try {
    return { json: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function summaryOf(value: unknown): string {
  if (!isObject(value)) return "message";
  if (typeof value["method"] === "string") return value["method"];
  // A packet.
  if (typeof value["type"] === "string") return value["type"];
  if ("error" in value) return "error";
  return "result" in value ? "result" : "message";
}
