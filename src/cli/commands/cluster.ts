// Owns: `troupe cluster`: register, deployments and remove; the options of dev. Does not own: the admin API (cluster/restate-admin.ts,
// cluster/deployments.ts), the cluster that dev runs (cluster/dev.ts).
import { type Command, Option } from "commander";
import { type EngineAddress, parseEngine } from "../cluster/cluster-options.ts";
import type { DevOptions } from "../cluster/dev-nodes.ts";
import { deploymentsInUse, registerDeployment, removeDeployment, RestateAdmin } from "../cluster/restate-admin.ts";
import { usage } from "../command-error.ts";
import { LOG_LEVELS } from "../log.ts";
import { nonEmptyPath, parseHostPort, wholeNumber } from "../option-parsers.ts";
import { output, table } from "../output.ts";

const HTTP = "127.0.0.1:3000";

const engineOption = (): Option =>
  new Option("--engine <address>", "the Restate server: restate://host[:8080][?admin=http://host:9070]")
    .argParser(parseEngine)
    .default(parseEngine("restate://127.0.0.1"), "restate://127.0.0.1");

const common = (command: Command): Command => command.addOption(engineOption()).option("--json", "one JSON value per line");

export const register = (program: Command): void => {
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
    .action(registerNodes);

  common(
    cluster
      .command("deployments")
      .description("List what is registered, and how many calls are still bound to each: at 0 its nodes may stop."),
  ).action(listDeployments);

  common(cluster.command("remove").description("Make Restate forget a deployment that nothing needs any more.").argument("<id>", "dp_…"))
    .option("--force", "also where calls are bound to it, which then never end, or where new calls go to it, which then fail")
    .action(removeNodes);

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
    .option("--data <dir>", "keeps everything over a restart (default: a temporary folder)", nonEmptyPath("a folder"))
    .option("--grace <ms>", "how long running calls may take after Ctrl-C", wholeNumber(0), 5_000)
    .addOption(new Option("--log <level>", "to standard error").choices([...LOG_LEVELS]).default("info"))
    .option("--json", "machine-readable: one line when ready, JSON logs")
    .action(async (modules: string[], options: DevOptions) => (await import("../cluster/dev.ts")).clusterDev(modules, options));
};

interface ClusterCommand {
  readonly engine: EngineAddress;
  readonly json?: boolean;
}

type Forced = ClusterCommand & { readonly force?: boolean };

/** The address at which Restate calls the nodes. Throws `USAGE`. */
const endpointUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw usage(
      `The address of the nodes is an http URL as the Restate server reaches it, such as http://nodes.internal:9080, not "${text}".`,
    );
  if (url.username !== "" || url.password !== "")
    throw usage("The address of the nodes takes no credentials: Restate lists it to everybody.");
  return url.href;
};

const registerNodes = async (url: string, options: Forced): Promise<void> => {
  const force = options.force === true;
  const found = await registerDeployment(new RestateAdmin(options.engine.admin), endpointUrl(url), force);
  output(options).show(found, () => {
    const services = found.services.length === 0 ? "no kinds" : found.services.join(", ");
    if (found.added) return `Registered as ${found.id}: ${services}.`;
    return force
      ? `Asked again, and kept as ${found.id}: ${services}.`
      : `Known already as ${found.id}: ${services}. Nothing was asked again; new code belongs at an address of its own.`;
  });
};

const listDeployments = async (options: ClusterCommand): Promise<void> => {
  const found = await deploymentsInUse(new RestateAdmin(options.engine.admin));
  const out = output(options);
  for (const one of found) out.value(one);
  out.text(() =>
    found.length === 0
      ? 'No deployments: register the nodes with "troupe cluster register <url>".'
      : table(
          ["id", "url", "created", "pinned", "new calls of", "services"],
          found.map(({ id, url, created, pinned, newest, services }) => [
            id,
            url,
            created.replace(/\.\d+Z$/, "Z"),
            String(pinned),
            newest.length === services.length ? "all" : newest.length === 0 ? "none" : newest.join(" "),
            services.join(" "),
          ]),
        ),
  );
};

const removeNodes = async (id: string, options: Forced): Promise<void> => {
  await removeDeployment(new RestateAdmin(options.engine.admin), id, options.force === true);
  output(options).show({ ok: true }, () => "Done.");
};
