// Capabilities behind packets, with or without what Layer 4 adds to them: actors, tools, MCP.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { createGateway } from "../../src/mcp/gateway/index.ts";
import {
  Capabilities,
  type Capability,
  capabilitySource,
  type Emitted,
  PacketFlow,
  type PacketFlowOptions,
  type PacketSession,
} from "../../src/bridges/packet/index.ts";
import { sqliteStore } from "../../src/core/store/index.ts";
import { SimulatedClock, SimulatedEntropy } from "../../src/testing/index.ts";

export interface WholeFlow extends AsyncDisposable {
  readonly packets: PacketFlow;
  readonly capabilities: Capabilities;
  readonly clock: SimulatedClock;
  readonly effects: readonly Emitted[];
  readonly faults: readonly unknown[];
  /** A session of that principal. */
  open(principal: string | undefined): PacketSession;
  /** Every actor with the number of its events, and the rows of every table in the directory. */
  written(): Promise<unknown>;
}

interface How extends Pick<PacketFlowOptions, "actors" | "admit"> {
  /** With MCP: tools and resources made of the capabilities, and `mcp_request`. */
  readonly mcp: boolean;
}

/** On a store in a directory that goes with it. */
export const wholeFlow = async (given: readonly Capability[], { mcp, ...options }: How): Promise<WholeFlow> => {
  const clock = new SimulatedClock();
  const entropy = new SimulatedEntropy();
  const directory = mkdtempSync(join(tmpdir(), "troupe-whole-flow-"));
  const effects: Emitted[] = [];
  const faults: unknown[] = [];
  const store = sqliteStore({ directory, clock });
  const capabilities = new Capabilities(given);
  const engine = await LocalEngine.start({ kinds: [...capabilities.kinds], clock, entropy, store });
  const packets = new PacketFlow({ capabilities, engine, clock, entropy, onFault: (error) => void faults.push(error), ...options });
  packets.onEffect((emitted) => void effects.push(emitted));
  const open: AsyncDisposable[] = [packets, engine, store];
  if (mcp) {
    const source = capabilitySource({
      capabilities,
      run: (id, payload, how) => packets.running.run(id, payload, how),
      actors: packets.actors,
      engine,
    });
    const gateway = createGateway({ source, info: { name: "flow", version: "1" }, clock, entropy, rateLimit: false });
    packets.tunnelTo(gateway);
    open.splice(1, 0, gateway, { [Symbol.asyncDispose]: () => Promise.resolve(source[Symbol.dispose]()) });
  }
  return {
    packets,
    capabilities,
    clock,
    effects,
    faults,
    open: (principal) => packets.open({ caller: { scopes: [], ...(principal !== undefined && { principal }) } }),
    async written() {
      const events: Record<string, number> = {};
      for (const { id } of await engine.list({ limit: 10_000 })) {
        events[id] = 0;
        for await (const _event of engine.history(id)) events[id] += 1;
      }
      return { events, rows: rowsIn(directory) };
    },
    async [Symbol.asyncDispose]() {
      for (const one of open) await one[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};

/** By table. */
const rowsIn = (directory: string): Readonly<Record<string, unknown>> => {
  const rows: Record<string, unknown> = {};
  for (const file of readdirSync(directory).filter((name) => name.endsWith(".db"))) {
    using database = new DatabaseSync(join(directory, file), { readOnly: true });
    for (const { name } of database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all())
      rows[`${file} ${String(name)}`] = database.prepare(`SELECT count(*) AS n FROM "${String(name)}"`).get()?.["n"];
  }
  return rows;
};
