// Starts examples/all in its own process, as a user does, with clients for each of its transports.
import { join } from "node:path";
import { packetClient, type PacketClient } from "../../src/bridges/packet/index.ts";
import { remoteStage, type Stage } from "../../src/bridges/theater/index.ts";
import { runningScript, type Running } from "../cli/run.ts";
import { connect, type Player, type Which } from "../clients.ts";
import { root } from "../serve-child.ts";
import { isJsonObject } from "../wire.ts";

const KEYS = { ada: "a".repeat(32), bob: "b".repeat(32) } as const;
type Who = keyof typeof KEYS;

export interface RunningExample extends AsyncDisposable {
  readonly running: Running;
  enter(who: Who, which: Which): Promise<Player>;
  /** Over HTTP or TCP. */
  packets(who: Who, door: "packets" | "packetsTcp"): PacketClient;
  stage(): Stage;
}

/** Resolves when it has printed its addresses. */
export async function startExample(data: string): Promise<RunningExample> {
  const running = runningScript({
    args: ["--conditions=troupe-source", join(root, "examples/all/index.ts"), data],
    env: { TROUPE_KEY_ADA: KEYS.ada, TROUPE_KEY_BOB: KEYS.bob },
  });
  await running.said(/\{"mcp".*\}/);
  const urls: unknown = JSON.parse(running.out().trim());
  const at = (door: string): string => {
    if (!isJsonObject(urls)) throw new Error(running.out());
    return String(urls[door]);
  };
  return {
    running,
    enter: (who, which) => connect({ http: at("mcp") }, which, { headers: { authorization: `Bearer ${KEYS[who]}` } }),
    packets: (who, door) => packetClient(at(door), { token: KEYS[who] }),
    stage() {
      const { hostname: host, port } = new URL(at("theater"));
      return remoteStage({ host, port: Number(port) });
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** The value at a dotted path in JSON: `state.room`, `children.0.id`. */
export const within = (value: unknown, path: string): unknown =>
  path.split(".").reduce((at, name) => (typeof at === "object" && at !== null ? Reflect.get(at, name) : undefined), value);

/** Theater's messages are bytes. */
export const messageBytes = (tool: string, args: object = {}): Uint8Array =>
  new TextEncoder().encode(JSON.stringify({ action: `tools/${tool}`, args }));

export const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
