// `troupe cluster dev` over nodes without actors. Its one argument is JSON: the options, and what else a node is told.
import { join } from "node:path";
import { clusterDev } from "../../src/cli/cluster/dev.ts";
import { describeFailure } from "../../src/cli/command-error.ts";

const { data, http, nodes, json, extra }: Readonly<Record<string, unknown>> = JSON.parse(process.argv[2] ?? "{}");
const node = join(import.meta.dirname, "cluster-node.fixture.ts");

try {
  await clusterDev(
    ["stub.ts"],
    {
      nodes: Number(nodes ?? 2),
      http: { host: "127.0.0.1", port: Number(http ?? 0) },
      grace: 5_000,
      log: "info",
      json: json !== false,
      ...(typeof data === "string" && { data }),
    },
    {
      program: (place, { secret }) => ({
        file: process.execPath,
        args: [
          "--conditions=troupe-source",
          node,
          `--node=${place.node.host}:${place.node.port}`,
          `--http=${place.http.host}:${place.http.port}`,
          ...(Array.isArray(extra) ? extra.map(String) : []),
        ],
        env: { ...process.env, TROUPE_CLUSTER_SECRET: secret },
      }),
    },
  );
} catch (error) {
  const { exit, code, message } = describeFailure(error);
  process.stderr.write(`${code}: ${message}\n`);
  process.exitCode = exit;
}
process.exit();
