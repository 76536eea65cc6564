import { connecting } from "../banner.ts";
import { counted, type Painter } from "../output.ts";

/** What `cluster dev` says when it is ready; with `--json` in one line. */
export interface DevReady {
  readonly ready: true;
  readonly name: string;
  /** Where clients connect. */
  readonly http: string;
  readonly meta: string;
  /** As `--engine` takes it. */
  readonly engine: string;
  readonly ingress: string;
  readonly admin: string;
  /** Where Restate reaches the nodes. */
  readonly endpoint: string;
  readonly deployment: string;
  /** Absent: a temporary folder. */
  readonly data?: string;
  readonly pid: number;
  readonly restate: number | undefined;
  readonly nodes: readonly { readonly name: string; readonly node: string; readonly http: string; readonly pid: number | undefined }[];
}

/** The kinds of actors among Restate's services; the others serve the nodes themselves. */
const kindsAmong = (services: readonly string[]): readonly string[] => {
  const kinds = services.flatMap((name) => /^actor-(.+)$/.exec(name)?.[1] ?? []);
  return kinds.length > 0 ? kinds : services;
};

export const devBanner = (ready: DevReady, services: readonly string[], files: readonly string[], paint: Painter): string => {
  const lines = [
    `${paint("bold", ready.name)} is served by ${counted(ready.nodes.length, "node")}: ${kindsAmong(services).join(", ")}.`,
    "",
  ];
  const row = (what: string, value: string): void => void lines.push(`  ${what.padEnd(7)}  ${value}`);
  row("HTTP", paint("cyan", ready.http));
  row("", `${ready.meta} for clients that load the list of tools only once`);
  for (const { name, http, node, pid } of ready.nodes) row(name, `${http}, for Restate at ${node}, process ${pid ?? "none"}`);
  row("Restate", `${ready.engine}, process ${ready.restate ?? "none"}; look into it at ${ready.admin}/ui`);
  row("", `it reaches the nodes at ${ready.endpoint} (${ready.deployment})`);
  row("Data", ready.data ?? "a temporary folder, gone at the end");
  const { name, http } = ready;
  lines.push("", ...connecting({ name, files, addresses: { http }, data: ready.data, byKey: false, byHand: false }));
  return [...lines, paint("dim", "Ctrl-C stops all of it.")].join("\n");
};
