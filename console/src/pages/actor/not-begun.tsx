// Owns: the page of an actor that has not begun: what it would offer, and the call that begins it. Does not own: its offers (offers.tsx).
import { lazy } from "preact/compat";
import { Link } from "wouter-preact";
import type { ActorDetail, LogRow, PageOf } from "../../../../src/bridges/console/shapes.ts";
import { about, can, whyNot } from "../../about.ts";
import { get } from "../../api.ts";
import { useResource } from "../../resource.ts";
import { readable } from "../../ui/actor-link.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Empty } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";

// In the file that the tab loads, too.
const Offers = lazy(async () => (await import("./offers.tsx")).Offers);

export function NotBegun({
  id,
  begun,
  reload,
  open,
}: {
  readonly id: string;
  /** It has begun since the page was opened. */
  readonly begun: ActorDetail | undefined;
  readonly reload: () => void;
  /** Shows its own page. */
  readonly open: () => void;
}) {
  const [name = ""] = id.split("/");
  const isServed = about.value?.kinds.some(({ kind, served }) => served && kind === name) ?? false;
  const mayBegin = isServed && can("run");
  return (
    <>
      <header class="actor-header">
        <nav aria-label="Where this is" class="crumbs">
          <Link href="/actors">Actors</Link>
          <span aria-hidden="true">/</span>
          <Link href={`/actors?kind=${encodeURIComponent(name)}`}>{readable(name)}</Link>
        </nav>
        <div class="row">
          <h1 class="id">{readable(id)}</h1>
          {mayBegin ? <Badge word={begun?.status ?? "not begun"} /> : null}
          <span class="grow" />
          {begun === undefined ? null : (
            <button type="button" class="primary" onClick={open}>
              Show its state and history
            </button>
          )}
        </div>
        {begun !== undefined ? (
          <p role="status">It has begun.</p>
        ) : mayBegin ? (
          <p class="dim">There is no such actor yet. This is what it would offer. Calling a tool that changes something begins it.</p>
        ) : null}
        {begun === undefined && can("log") ? <FailedStart id={id} /> : null}
      </header>
      {mayBegin ? (
        <Offers actor={begun ?? { id, seq: 0 }} reload={reload} />
      ) : (
        <Empty title="There is no such actor">
          <span>
            {can("run") ? `No module that is served defines the kind ${readable(name)}.` : whyNot("run")}{" "}
            <Link href="/actors">See all actors</Link>.
          </span>
        </Empty>
      )}
    </>
  );
}

const MOST = 500;

/** Why it has not begun, if its first messages failed. */
function FailedStart({ id }: { readonly id: string }) {
  const log = useResource(`failed start ${id}`, (signal) =>
    get<PageOf<LogRow>>("/log", { actor: id, level: "error", limit: MOST }, signal),
  );
  const all = log.data.value?.items ?? [];
  // A dead letter repeats what was logged when its message failed.
  const faults = all.filter(({ fields }) => fields["repeated"] !== true);
  const [last] = faults;
  if (last === undefined) return null;
  const { why, action } = last.fields;
  return (
    <section class="last-fault" aria-label="Its start failed">
      <p>
        <strong>Its start failed</strong>
        {typeof action === "string" ? (
          <>
            {" "}
            in <code>{action}</code>
          </>
        ) : null}
        <span class="dim">
          {" "}
          <Time at={last.at} />
          {faults.length > 1 ? `, ${faults.length.toLocaleString()} faults since the server started` : ""}
        </span>
      </p>
      <p class="fault-why">{typeof why === "string" ? why : "The log says why."}</p>
      <p class="links">
        <Link href={`/log?level=error&actor=${encodeURIComponent(id)}`}>In the log</Link>
        {all.some(({ fields }) => typeof fields["letter"] === "string") ? <Link href="/letters">Dead letters</Link> : null}
      </p>
    </section>
  );
}
