// Owns: what went over the wire, log messages, and all calls so far. Does not own: recording them (connection.ts, calls.ts).
import { Link } from "wouter-preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { textIn } from "../../json.ts";
import { Badge } from "../../ui/badge.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { duration, Time } from "../../ui/time.tsx";
import { calls } from "./calls.ts";
import { client, logLevel, logs, wire, type WireRow } from "./connection.ts";
import { callPath } from "./saved.ts";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

export function Messages() {
  const tab = useSignal("messages");
  return (
    <section class="wire" aria-label="Messages">
      <Tabs
        label="What happened"
        value={tab.value}
        onChange={(id) => (tab.value = id)}
        tabs={[
          { id: "messages", label: "JSON-RPC", count: wire.value.length },
          { id: "logs", label: "Logs", count: logs.value.length },
          { id: "calls", label: "Calls", count: calls.value.length },
        ]}
      >
        {tab.value === "messages" ? <Wire /> : tab.value === "logs" ? <Logs /> : <Calls />}
      </Tabs>
    </section>
  );
}

/** Scrolls with new rows only while its end is visible: nothing moves under someone who reads. */
function Following({ count, label, children }: { readonly count: number; readonly label: string; readonly children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    if (atEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [count]);
  return (
    <div
      ref={box}
      class="wire-rows"
      role="region"
      aria-label={label}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        atEnd.current = scrollTop + clientHeight > scrollHeight - 8;
      }}
    >
      {children}
    </div>
  );
}

function Wire() {
  const filter = useSignal("");
  const wanted = filter.value.toLowerCase();
  const rows = wire.value.filter((row) => wanted === "" || JSON.stringify(row.message).toLowerCase().includes(wanted));
  return (
    <>
      <div class="row">
        <input
          type="search"
          class="grow"
          aria-label="Search messages"
          placeholder="Search messages"
          value={filter.value}
          onInput={(event) => (filter.value = event.currentTarget.value)}
        />
        <CopyButton what="all messages" text={() => JSON.stringify(rows, null, 2)} />
        <button type="button" class="small quiet" onClick={() => (wire.value = [])}>
          Clear
        </button>
      </div>
      <Following count={rows.at(-1)?.n ?? 0} label="JSON-RPC messages">
        {rows.length === 0 ? <p class="dim small">Messages to and from the server appear here.</p> : null}
        {rows.map((row) => (
          <Row key={row.n} row={row} />
        ))}
      </Following>
    </>
  );
}

function Row({ row: { direction, message, method, ms, at, headers } }: { readonly row: WireRow }) {
  const open = useSignal(false);
  const { id, params, error } = message;
  const isResponse = message.method === undefined;
  const name = textIn(params, "name") ?? textIn(params, "uri") ?? "";
  return (
    <details onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>
        <span class={direction} title={direction === "out" ? "Sent" : "Received"}>
          {direction === "out" ? "→" : "←"}
          <span class="off-screen">{direction === "out" ? "sent" : "received"}</span>
        </span>
        <span class="mono what">
          {method} <span class="dim">{name}</span>
        </span>
        {error === undefined ? null : <Badge word="error" />}
        <span class="dim mono">{isResponse ? (ms === undefined ? "response" : duration(ms)) : id === undefined ? "note" : `#${id}`}</span>
      </summary>
      {open.value ? (
        <>
          <p class="dim small">
            <Time at={at} />
          </p>
          {headers === undefined ? null : (
            <pre class="dim">
              {Object.entries(headers)
                .map(([header, value]) => `${header}: ${value}`)
                .join("\n")}
            </pre>
          )}
          <pre>{JSON.stringify(message, null, 2)}</pre>
        </>
      ) : null}
    </details>
  );
}

function Logs() {
  return (
    <>
      <label class="row">
        <span>Least level</span>
        <select
          value={logLevel.value}
          onChange={(event) => {
            logLevel.value = event.currentTarget.value;
            void client.value?.setLogLevel(logLevel.value === "" ? undefined : logLevel.value).catch(() => undefined);
          }}
        >
          <option value="">{client.value?.era === "modern" ? "none" : "as the server likes"}</option>
          {LEVELS.map((level) => (
            <option key={level} value={level}>
              {level}
            </option>
          ))}
        </select>
      </label>
      <Following count={logs.value.at(-1)?.n ?? 0} label="Log messages">
        {logs.value.length === 0 ? <p class="dim small">Choose a level; log messages of the calls then appear here.</p> : null}
        {logs.value.map(({ n, at, level, logger, data }) => (
          <p key={n} class="log">
            <Badge word={level === "warning" ? "warning" : LEVELS.indexOf(level) > 3 ? "error" : level} /> <Time at={at} />{" "}
            <span class="dim">{logger}</span>
            <code>{JSON.stringify(data["data"])}</code>
          </p>
        ))}
      </Following>
    </>
  );
}

function Calls() {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
    <div class="wire-rows" role="region" aria-label="Calls" tabIndex={0}>
      {calls.value.length === 0 ? <p class="dim small">Your calls appear here, newest first.</p> : null}
      {calls.value.map((row) => (
        <p key={row.n} class="log">
          <Badge word={row.status} /> <Link href={callPath(row, row.arguments)}>{row.name}</Link>{" "}
          <span class="dim">
            {row.ms === undefined ? "" : duration(row.ms)} <Time at={row.at} />
          </span>
          <code>{JSON.stringify(row.arguments).slice(0, 200)}</code>
        </p>
      ))}
    </div>
  );
}
