import { once } from "node:events";
import { systemClock, systemEntropy } from "../../core/contract/index.ts";
import { CommandError, EXIT, usage } from "../exit-code.ts";
import { type ServerLog, serverLog } from "../log.ts";
import { bearGoneReaders, paintError, printLine } from "../output.ts";
import { stopSignal } from "../stop-signal.ts";
import { devBanner } from "./dev-banner.ts";
import { DevCluster } from "./dev-cluster.ts";
import type { DevOptions, DevParts } from "./dev-options.ts";
import { serveProgram } from "./serve-program.ts";
import { TemporaryFolder } from "./temporary-folder.ts";

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/i;

export const clusterDev = async (modules: readonly string[], options: DevOptions, parts: DevParts = {}): Promise<void> => {
  if (!LOOPBACK.test(options.http.host))
    throw usage(
      `--http ${options.http.host} is not this machine's own: a cluster for others is nodes of troupe serve --engine behind a load balancer.`,
    );
  bearGoneReaders(process.stdout);
  const { clock = systemClock, entropy = systemEntropy, program = serveProgram } = parts;
  const json = options.json === true;
  const log = serverLog(options.log, json, () => clock.now());
  const stop = new AbortController();
  const { signal } = stop;
  void stopSignal().then(() => stop.abort());
  await using stack = new AsyncDisposableStack();
  const directory = options.data ?? stack.use(await TemporaryFolder.make("troupe-cluster-")).path;
  const cluster = stack.use(new DevCluster({ ...options, modules, directory, clock, entropy, program, logTo: log, signal }));
  try {
    const ready = await cluster.start();
    if (json) printLine(JSON.stringify({ ...ready, ...(options.data === undefined ? {} : { data: directory }) }));
    else process.stderr.write(`${devBanner(ready, cluster.services, modules, paintError)}\n`);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  await untilStopped(signal, cluster, log);
};

const untilStopped = async (signal: AbortSignal, cluster: DevCluster, log: ServerLog): Promise<void> => {
  if (!signal.aborted) {
    const why = await Promise.race([once(signal, "abort").then(() => undefined), cluster.engineEnded]);
    if (why !== undefined && !signal.aborted)
      throw new CommandError(
        EXIT.failed,
        "RESTATE_FAILED",
        `The Restate server ended with ${why}, so all has stopped: the log may say why.`,
      );
  }
  log("info", "stopping");
};
