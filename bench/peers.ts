// Other MCP servers, pinned in bench/peers and installed when they are measured.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { installPinned } from "../test/install-pinned.ts";
import { root, start, type Started, startProgram } from "./server-process.ts";
import { SERVER_CORE } from "./cpu-pinning.ts";

const folder = join(root, "bench/peers");

export const installPeers = (): Promise<void> => installPinned(folder);

/** Starts a program of bench/peers with a counter, and `tools` tools in all. */
export const peer = (program: string, tools = 1): Promise<Started> => start([program, String(tools)], { cwd: folder, core: SERVER_CORE });

const workerd = join(folder, "node_modules/@cloudflare/workerd-linux-64/bin/workerd");

/** Whether there is a workerd for this machine. */
export const hasWorkerd = (): boolean => existsSync(workerd);

/** A Durable Object, with its data in that directory. */
export const durableObject = (data: string): Promise<Started> =>
  startProgram(workerd, ["serve", "counter.capnp", "--control-fd=1", `--directory-path=kept=${data}`], { cwd: folder, core: SERVER_CORE });
