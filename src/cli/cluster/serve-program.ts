import type { HostPort } from "../address.ts";
import { PROGRAM } from "../program.ts";
import type { NodePlace, NodeProgram } from "./node-process.ts";

/** What all nodes of a cluster share. */
export interface NodeShare {
  readonly modules: readonly string[];
  /** As `--engine` takes it. */
  readonly engine: string;
  /** By which the nodes know each other: 64 hex digits. */
  readonly secret: string;
  readonly graceMs: number;
  readonly log: string;
  /** Where it may keep files of its own. */
  readonly directory: (place: NodePlace) => string;
}

const at = ({ host, port }: HostPort): string => `${host}:${port}`;

/** A node as `troupe serve --engine` is one. */
export const serveProgram = (place: NodePlace, share: NodeShare): NodeProgram => {
  const options = {
    "--engine": share.engine,
    "--node": at(place.node),
    "--advertise": `http://${at(place.node)}`,
    "--http": at(place.http),
    "--data": share.directory(place),
    "--grace": String(share.graceMs),
    "--log": share.log,
  };
  return {
    file: process.execPath,
    args: [PROGRAM, "serve", ...share.modules, ...Object.entries(options).flat(), "--json"],
    // Not as an argument: those are for everybody on the machine to read.
    env: { ...process.env, TROUPE_CLUSTER_SECRET: share.secret },
  };
};
