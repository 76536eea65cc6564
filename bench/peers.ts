// Servers of others that bench/peers pins, installed when they are measured.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { installPinned } from "../test/install-pinned.ts";
import { root, start, type Started, startProgram } from "./child.ts";
import { SERVER_CORE } from "./pin.ts";

const folder = join(root, "bench/peers");

export const installPeers = (): Promise<void> => installPinned(folder);

/** One of its programs, with a counter and so many tools in all. */
export const peer = (program: string, tools = 1): Promise<Started> => start([program, String(tools)], { cwd: folder, core: SERVER_CORE });

const workerd = join(folder, "node_modules/@cloudflare/workerd-linux-64/bin/workerd");

/** Whether there is a workerd for this machine. */
export const hasWorkerd = (): boolean => existsSync(workerd);

/** A Durable Object, with its data in that directory. */
export const durableObject = (data: string): Promise<Started> =>
  startProgram(workerd, ["serve", "counter.capnp", "--control-fd=1", `--directory-path=kept=${data}`], { cwd: folder, core: SERVER_CORE });
