// Owns: one capability: what it requires and provides, its actors, and how to request it.
import { Link } from "wouter-preact";
import type { CapabilityRow } from "../../../../src/bridges/console/shapes.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { Fact, Facts } from "../../ui/facts.tsx";
import { JsonTree } from "../../ui/json-tree.tsx";
import { Panel } from "../../ui/panel.tsx";

export function CapabilityPanel({ capability, onClose }: { readonly capability: CapabilityRow; readonly onClose: () => void }) {
  const { id, intent, requires, provides, runs, kind, shared, persistence, actors, tools, effects, searchable, parameters } = capability;
  const packet = JSON.stringify(exampleOf(capability), null, 2);
  return (
    <Panel title={<span class="mono">{id}</span>} label="Capability" onClose={onClose}>
      <p>{intent}</p>
      <Facts>
        <Fact name="Requires">{requires.length === 0 ? "nothing" : <code>{requires.join(", ")}</code>}</Fact>
        <Fact name="Provides">{provides.length === 0 ? "nothing that is declared" : <code>{provides.join(", ")}</code>}</Fact>
        <Fact name="Runs as">{RUNS[runs]}</Fact>
        <Fact name="Actors">
          {kind === undefined ? undefined : (
            <>
              <Link href={`/actors?kind=${kind}`}>
                {(actors ?? 0).toLocaleString()} of {kind}
              </Link>
              <span class="dim">
                {" "}
                {shared === true ? "shared" : "each for the caller that started it"}, {persistence}
              </span>
            </>
          )}
        </Fact>
        <Fact name="Tools">{tools === undefined ? undefined : <code>{tools.join(", ")}</code>}</Fact>
        <Fact name="Effects">{effects.length === 0 ? undefined : effects.join(", ")}</Fact>
        <Fact name="Searchable">
          {searchable === undefined || searchable.length === 0 ? undefined : <code>{searchable.join(", ")}</code>}
        </Fact>
        <Fact name="Packets">
          <Link href={`/traffic?transport=packets&search=${encodeURIComponent(id)}`}>See its recent ones</Link>
        </Fact>
      </Facts>
      <div class="row">
        <h3>A packet for it</h3>
        <CopyButton text={packet} what="the packet" />
      </div>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls */}
      <pre class="raw" tabIndex={0}>
        {packet}
      </pre>
      {parameters === undefined ? null : (
        <>
          <h3>Schema of its payload</h3>
          <JsonTree value={parameters} label="Schema of the payload" />
        </>
      )}
    </Panel>
  );
}

const RUNS = { function: "a function, without state", actor: "an actor", tools: "tools of another MCP server" } as const;

const exampleOf = ({ id, requires, kind, shared }: CapabilityRow): object => ({
  version: "1.0",
  type: "capability_request",
  id: "1",
  capability_id: id,
  ...(kind === undefined ? {} : { actor_id: "main" }),
  payload: Object.fromEntries(requires.map((field) => [field, "…"])),
  context: shared === false ? { user_id: "…" } : {},
});
