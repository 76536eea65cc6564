import type { Behaviour } from "../../src/core/contract/index.ts";
import { isRestateSdk, RestateEngine } from "../../src/hosts/restate/index.ts";
import { settle, SimulatedClock } from "../../src/testing/index.ts";
import type { OpenEngine, OpenIndexes } from "../../src/testing/conformance/index.ts";
import type { RestateServer } from "./restate-server.ts";

let opened = 0;
/** Timers that have come and are not with the server yet, by prefix. */
const beginning = new Map<string, number>();
const prefixes = new WeakMap<SimulatedClock, string>();

/** A clock whose time stands still while the server has anything to do for the engine that lives by it. */
export const serverClock = (server: () => RestateServer) => (): SimulatedClock => {
  const clock: SimulatedClock = new SimulatedClock(undefined, async () => {
    await settle();
    const prefix = prefixes.get(clock);
    if (prefix !== undefined) await quiet(server(), prefix);
  });
  return clock;
};

/** Engines of the suite on one server, each with names of its own there. */
export const openOn =
  (server: () => RestateServer, sdk: () => unknown): OpenEngine =>
  async ({ kinds, clock, entropy, keyMs }) => {
    const loaded = sdk();
    if (!isRestateSdk(loaded)) throw new TypeError("The SDK has another shape than the one that is used.");
    const prefix = `t${process.pid}-${(opened += 1)}-`;
    if (clock instanceof SimulatedClock) prefixes.set(clock, prefix);
    let port = 0;
    const start = async (some: readonly Behaviour[]): Promise<RestateEngine> => {
      const engine = await RestateEngine.start({
        ingress: server().ingress,
        admin: server().admin,
        sdk: loaded,
        kinds: some,
        listen: { port },
        secret: Buffer.alloc(32, "the suite's secret"),
        prefix,
        clock,
        entropy,
        patienceMs: 15_000,
        ...(keyMs === undefined ? {} : { keyMs }),
        // Durable as the server's own: whoever comes next finds them.
        later: ([, , afterMs], begin) =>
          void clock.after(afterMs, () => {
            beginning.set(prefix, (beginning.get(prefix) ?? 0) + 1);
            void begin().finally(() => beginning.set(prefix, (beginning.get(prefix) ?? 1) - 1));
          }),
        onFault: (error) => {
          if (process.env["FAULTS"]) console.error(error);
        },
      });
      port = Number(new URL(engine.url).port);
      // Without kinds it is as if none ran: what was registered stays.
      if (some.length > 0) await register(server(), engine.url);
      return engine;
    };
    let current = await start(kinds);
    return {
      engine: current,
      async reopen(others = kinds) {
        await current[Symbol.asyncDispose]();
        return (current = await start(others));
      },
      async [Symbol.asyncDispose]() {
        await current[Symbol.asyncDispose]();
      },
    };
  };

/** The same for the suite of indexes, by the server's own time. */
export const openIndexesOn =
  (server: () => RestateServer, sdk: () => unknown): OpenIndexes =>
  async (kinds) => {
    const loaded = sdk();
    if (!isRestateSdk(loaded)) throw new TypeError("The SDK has another shape than the one that is used.");
    const { ingress, admin } = server();
    const prefix = `t${process.pid}-${(opened += 1)}-`;
    let port = 0;
    const start = async (given: typeof kinds): Promise<RestateEngine> => {
      const options = { ...given, ingress, admin, sdk: loaded, listen: { port }, secret: Buffer.alloc(32, 1), prefix };
      const engine = await RestateEngine.start({ ...options, onFault: () => undefined });
      port = Number(new URL(engine.url).port);
      await register(server(), engine.url);
      return engine;
    };
    let current = await start(kinds);
    return {
      engine: current,
      arrived: () => quiet(server(), prefix),
      async reopen(other) {
        await current[Symbol.asyncDispose]();
        return (current = await start(other));
      },
      [Symbol.asyncDispose]: async () => current[Symbol.asyncDispose](),
    };
  };

async function register(server: RestateServer, uri: string): Promise<void> {
  const response = await fetch(`${server.admin}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri, force: true }),
  });
  if (!response.ok) throw new Error(`The server did not take the deployment: ${response.status} ${await response.text()}`);
}

/** Nothing is on its way, or nothing that is will move by itself. What this process has just sent may not be known there yet. */
async function quiet(server: RestateServer, prefix: string): Promise<void> {
  let before = "none";
  for (let same = 0; same < 6;) {
    const now = await left(server, prefix);
    same = now === before && (beginning.get(prefix) ?? 0) === 0 ? same + 1 : 0;
    before = now;
  }
}

async function left(server: RestateServer, prefix: string): Promise<string> {
  const response = await fetch(`${server.admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({
      query: `SELECT id, status FROM sys_invocation WHERE starts_with(target_service_name, '${prefix}') AND status <> 'completed'`,
    }),
  });
  const answer: { readonly rows: readonly { readonly id: string; readonly status: string }[] } = JSON.parse(await response.text());
  return answer.rows
    .map(({ id, status }) => `${id} ${status}`)
    .toSorted()
    .join("\n");
}
