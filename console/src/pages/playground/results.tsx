// Owns: what came of the calls of one target, newest first. Does not own: how content is drawn (content.tsx).
import { lazy, Suspense } from "preact/compat";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import { appUriOf } from "../../app-page.ts";
import { objectIn, textIn } from "../../json.ts";
import type { AppCall } from "../../mcp/app-host.ts";
import { ActorLink } from "../../ui/actor-link.tsx";
import { Badge } from "../../ui/badge.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { JsonTree } from "../../ui/json-tree.tsx";
import { Loading } from "../../ui/states.tsx";
import { duration, Time } from "../../ui/time.tsx";
import { cancel, type CallRow, calls, type Target } from "./calls.ts";
import { lists } from "./connection.ts";
import { ResultContent } from "./content.tsx";

const PlaygroundApp = lazy(async () => (await import("./playground-app.tsx")).PlaygroundApp);

const SHOWN = 10;

export function Results({ target }: { readonly target: Target }) {
  const own = calls.value.filter(({ kind, name }) => kind === target.kind && name === target.name).slice(0, SHOWN);
  const [latest, ...earlier] = own;
  if (latest === undefined) return null;
  return (
    <section aria-label="Results" class="results">
      <Result key={latest.n} row={latest} isLatest />
      {earlier.map((row) => (
        <details key={row.n}>
          <summary>
            <Badge word={row.status} /> <Time at={row.at} /> <small class="mono dim">{JSON.stringify(row.arguments).slice(0, 80)}</small>
          </summary>
          <Result row={row} />
        </details>
      ))}
    </section>
  );
}

/** Of earlier calls no app is shown: each would run. */
function Result({ row, isLatest = false }: { readonly row: CallRow; readonly isLatest?: boolean }) {
  const { n, status, ms, at, revision, result, error, progress, task } = row;
  const tool = row.kind === "tool" ? lists.value.tools?.find(({ name }) => name === row.name) : undefined;
  const app = isLatest ? appUriOf(tool) : undefined;
  const receipt = objectIn(objectIn(result, "_meta"), "troupe/receipt");
  const actor = textIn(receipt, "actor");
  return (
    <article class={`result ${status}`} aria-live="polite">
      <header class="row">
        <Badge word={status} />
        {ms === undefined ? null : <span class="mono">{duration(ms)}</span>}
        <span class="dim">
          <Time at={at} /> · {revision}
        </span>
        {actor === undefined ? null : (
          <span>
            changed <ActorLink id={actor} tab="history" />
          </span>
        )}
        <span class="grow" />
        {status === "running" ? (
          <button type="button" class="small" onClick={() => cancel(n)}>
            Cancel
          </button>
        ) : (
          <CopyButton what="the result" text={() => JSON.stringify(result ?? error, null, 2)} />
        )}
      </header>
      {progress === undefined || status !== "running" ? null : <Progress progress={progress} />}
      {task === undefined ? null : (
        <p class="dim small">
          Task <code>{textIn(task, "taskId")}</code> {textIn(task, "status")}
          {textIn(task, "statusMessage") === undefined ? "" : `: ${textIn(task, "statusMessage")}`}
        </p>
      )}
      {error === undefined ? null : (
        <div class="failure">
          <strong>{error.message}</strong>
          {error.code === 0 ? null : <code> {error.code}</code>}
          {error.data === undefined ? null : <pre>{JSON.stringify(error.data, null, 2)}</pre>}
        </div>
      )}
      {app === undefined ? null : (
        <Suspense fallback={<Loading what="the app" />}>
          <PlaygroundApp name={row.name} uri={app} call={appCallOf(row, tool)} />
        </Suspense>
      )}
      {result === undefined ? null : (
        <>
          <ResultContent result={result} />
          <details>
            <summary>The whole result</summary>
            <JsonTree label="The whole result" value={result} />
          </details>
        </>
      )}
    </article>
  );
}

function appCallOf({ arguments: args, result, error, status }: CallRow, tool: JsonObject = {}): AppCall {
  const cancelled = error?.message ?? (status === "cancelled" ? "The user cancelled it." : undefined);
  return { tool, arguments: args, ...(result === undefined ? {} : { result }), ...(cancelled === undefined ? {} : { cancelled }) };
}

function Progress({ progress }: { readonly progress: NonNullable<CallRow["progress"]> }) {
  const { progress: done, total } = progress;
  return (
    <label class="call-progress">
      <progress {...(typeof total === "number" ? { max: total, value: Number(done) } : {})} />
      <span>{textIn(progress, "message") ?? JSON.stringify(done)}</span>
    </label>
  );
}
