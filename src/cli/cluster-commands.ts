import { type Command, Option } from "commander";
import { parseEngine } from "./cluster/cluster-options.ts";
import type { ClusterCommand } from "./cluster/commands.ts";
import type { DevOptions } from "./cluster/dev-nodes.ts";
import { LOG_LEVELS } from "./log.ts";
import { naming, parseHostPort, wholeNumber } from "./option-parsers.ts";

const HTTP = "127.0.0.1:3000";

type Forced = ClusterCommand & { readonly force?: boolean };

const engineOption = (): Option =>
  new Option("--engine <address>", "the Restate server: restate://host[:8080][?admin=http://host:9070]")
    .argParser(parseEngine)
    .default(parseEngine("restate://127.0.0.1"), "restate://127.0.0.1");

const common = (command: Command): Command => command.addOption(engineOption()).option("--json", "one JSON value per line");

export const registerClusterCommands = (program: Command): void => {
  const cluster = program
    .command("cluster")
    .description("Several nodes on Restate: register their code, see what runs where, try it here.");

  common(
    cluster
      .command("register")
      .description("Tell Restate of nodes: from then on new calls go to them. Once for each version of the code, when its nodes run.")
      .argument("<url>", "where Restate reaches the nodes of this version, such as their load balancer"),
  )
    .option(
      "--force",
      "ask again at an address that is known. For development: calls that are under way there go on with the new code, and fail where it does otherwise; in production give each version an address of its own",
    )
    .action(async (url: string, options: Forced) => (await import("./cluster/commands.ts")).registerNodes(url, options));

  common(
    cluster
      .command("deployments")
      .description("List what is registered, and how many calls are still bound to each: at 0 its nodes may stop."),
  ).action(async (options: ClusterCommand) => (await import("./cluster/commands.ts")).listDeployments(options));

  common(cluster.command("remove").description("Make Restate forget a deployment that nothing needs any more.").argument("<id>", "dp_…"))
    .option("--force", "also where calls are bound to it, which then never end, or where new calls go to it, which then fail")
    .action(async (id: string, options: Forced) => (await import("./cluster/commands.ts")).removeNodes(id, options));

  cluster
    .command("dev")
    .description("A Restate server and several nodes on this machine, behind one address. For development and trials.")
    .argument("<module...>", "as troupe serve takes them")
    .option("--nodes <n>", "how many", wholeNumber(1), 2)
    .addOption(
      new Option("--http <address>", "where clients connect, at [host:]port of this machine; port 0 picks a free one")
        .default(parseHostPort(HTTP, "--http"), HTTP)
        .argParser((text: string) => parseHostPort(text, "--http")),
    )
    .option("--data <dir>", "keeps everything over a restart (default: a temporary folder)", naming("a folder"))
    .option("--grace <ms>", "how long running calls may take after Ctrl-C", wholeNumber(0), 5_000)
    .addOption(new Option("--log <level>", "to standard error").choices([...LOG_LEVELS]).default("info"))
    .option("--json", "machine-readable: one line when ready, JSON logs")
    .action(async (modules: string[], options: DevOptions) => (await import("./cluster/dev.ts")).clusterDev(modules, options));
};
