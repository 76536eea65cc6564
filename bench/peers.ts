// Servers of others that bench/peers pins, installed when they are measured.
import { join } from "node:path";
import { installPinned } from "../test/install-pinned.ts";
import { root, start, type Started, startProgram } from "./child.ts";
import { SERVER_CORE } from "./pin.ts";

const folder = join(root, "bench/peers");

export const installPeers = (): Promise<void> => installPinned(folder);

/** One of its programs, with a counter and so many tools in all. */
export const peer = (program: string, tools = 1): Promise<Started> => start([program, String(tools)], { cwd: folder, core: SERVER_CORE });

/** A Durable Object, with its data in that directory. */
export const durableObject = (data: string): Promise<Started> => {
  const executable = join(folder, `node_modules/@cloudflare/workerd-${process.platform}-${process.arch.replace("x64", "64")}/bin/workerd`);
  const args = ["serve", "counter.capnp", "--control-fd=1", `--directory-path=kept=${data}`];
  return startProgram(executable, args, { cwd: folder, core: SERVER_CORE });
};
