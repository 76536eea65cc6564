// Owns: the options of `serve`, `dev`, `config` and `theater`. Does not own: the environment and the project's file (settings.ts), which
// options go together (server/check-options.ts).
import { type Command, Option } from "commander";
import type { TroupeConfig } from "../config/index.ts";
import { dataOption } from "./actor-options.ts";
import { type EngineAddress, parseEngine } from "./cluster/cluster-options.ts";
import { usage } from "./command-error.ts";
import { LOG_LEVELS } from "./log.ts";
import {
  parseAdvertisedUrl,
  collect,
  type HostPort,
  nonEmptyText,
  parseLifetime,
  parseNames,
  nonEmptyPath,
  parseHostPort,
  parseTcp,
  nonNegative,
  parseScope,
  wholeNumber,
} from "./option-parsers.ts";

/** The settings whose parsed values differ from those in the project's file. */
interface ParsedOptions extends Required<Pick<TroupeConfig, "data" | "lists" | "legacyLists" | "log" | "grace">> {
  readonly http?: HostPort;
  readonly tcp?: HostPort | { readonly path: string };
  readonly engine?: EngineAddress;
  readonly node?: HostPort;
  /** Milliseconds. */
  readonly sessionTtl?: number;
  /** True: next to MCP's HTTP. An address: also as lines over TCP. */
  readonly packets?: true | HostPort;
  /** False: `--no-auth`. */
  readonly auth: boolean;
  readonly theaterTcp?: HostPort | { readonly path: string };
}

/** The settings of `serve` and `dev`, from flags, the environment and the project's file. */
export type ServeOptions = ParsedOptions & Omit<TroupeConfig, keyof ParsedOptions | "modules">;

/** The options of `serve`, with the project's file of settings. */
export const addConfigurableServeOptions = (command: Command): Command =>
  addServeOptions(command, "[module...]")
    .addOption(new Option("--config <file>", "the project's settings (default: troupe.config.ts here or in the nearest folder above)"))
    .addOption(new Option("--no-config", "no settings but flags and the environment"));

/** Declares the options. `otherwise`: what help says about HTTP if no address is given. */
export const addServeOptions = (
  command: Command,
  modules = "<module...>",
  otherwise = "default when no other address is given: 127.0.0.1:3000",
): Command =>
  command
    .argument(
      modules,
      "a TypeScript or JavaScript file that exports actors, a folder with such an index, or a world (.yaml); name=module puts it under a prefix",
    )
    .option("--http <address>", `Streamable HTTP at [host:]port (${otherwise}); port 0 picks a free one`, (text: string) =>
      parseHostPort(text, "--http"),
    )
    .option("--sse", "beside MCP's HTTP, at /sse: the deprecated HTTP+SSE transport, for clients of 2024-11-05")
    .option("--stdio", "MCP on standard input and output; ends with the input")
    .option("--tcp <address>", "newline-delimited JSON at [host:]port or the path of a Unix socket", (text: string) =>
      parseTcp(text, "--tcp"),
    )
    .addOption(dataOption())
    .option(
      "--engine <address>",
      "run the actors on a Restate server, beside other nodes: restate://host[:port][?admin=url] (docs/guide/cluster.md)",
      parseEngine,
    )
    .option("--node <address>", "with --engine: where the server and other nodes reach this one, [host:]port", (text: string) =>
      parseHostPort(text, "--node"),
    )
    .option("--advertise <url>", "with --engine: the address they know it by, where it is another than --node", parseAdvertisedUrl)
    .option(
      "--secret-file <file>",
      "with --engine: what all nodes share, 64 hex digits (default: TROUPE_CLUSTER_SECRET)",
      nonEmptyPath("a file"),
    )
    .option("--identity-key <key>", "with --engine: refuse what this key (publickeyv1_…) has not signed; repeatable", collect)
    .option("--name <name>", "what clients are told the server is (default: the module's export `name`, or its file's)", nonEmptyText)
    .option("--title <title>", "the same for people", nonEmptyText)
    .option("--server-version <version>", "of what is served (default: Troupe's)", nonEmptyText)
    .option(
      "--as <name>",
      "who the client on stdio or a Unix socket is (default: local); with dev, also every caller over HTTP on loopback",
    )
    .option("--scope <scope>", "with --as: a scope of that principal; repeatable", parseScope)
    .addOption(
      new Option(
        "--names <style>",
        "of what links lead to, underscores: child__open, at most 64 of A-Z a-z 0-9 _ - as models take them; dots: child.open (default: underscores; of an AgenticService dots)",
      ).choices(["underscores", "dots"]),
    )
    .addOption(
      new Option("--lists <mode>", "to clients of 2026-07-28 with a principal: static (all tools, refused with a reason) or dynamic")
        .choices(["static", "dynamic"])
        .default("static"),
    )
    .addOption(
      new Option("--legacy-lists <mode>", "to clients of older revisions: dynamic (what can be called now), or static where they list once")
        .choices(["static", "dynamic"])
        .default("dynamic"),
    )
    .option("--jwks <url-or-file>", "verify bearer tokens against these keys", nonEmptyPath("a URL or a file"))
    .option("--issuer <iss>", "the tokens' issuer")
    .option("--audience <aud>", "the tokens' audience (default: the resource)")
    .option("--token-type <typ>", "the typ that a token's header must have, as at+jwt (default: none, JWT or at+jwt)")
    .option("--scopes-claim <name>", "the claim that holds a token's scopes (default: scope, or scp)")
    .option("--claims <names>", "the claims of tokens that roles are decided by (viewer.claims): roles,tenant", parseNames)
    .option("--resource <url>", "the address clients know this server by, behind a proxy (default: where HTTP listens)")
    .option("--api-keys <file>", "JSON: name → SHA-256 (hex) of a key, or {sha256, scopes, claims, expiresAt}", nonEmptyPath("a file"))
    .option("--require-scope <scope>", "every request needs it; repeatable", collect)
    .option("--allow-host <name>", "a Host besides loopback; repeatable", collect)
    .option("--allow-origin <origin>", "a browser origin besides loopback, of any scheme; repeatable", collect)
    .option(
      "--packets [address]",
      "take packets: POST /packets and WebSocket beside MCP's HTTP, and with [host:]port one a line over TCP there",
      (text: string) => parseHostPort(text, "--packets"),
    )
    .option("--no-auth", "with --packets or --theater: take whoever reaches this machine's loopback, each user a guest")
    .option(
      "--packet-config <file>",
      "of capabilities, JSON or YAML: actors (limits, timeouts), mcp (exposure, tool servers)",
      nonEmptyPath("a file"),
    )
    .option("--theater", "WebAssembly guests, and every actor's state and events for an operator: MCP at /theater (scope troupe:operate)")
    .option("--theater-tcp <address>", "Theater's management protocol at [host:]port or the path of a Unix socket", (text: string) =>
      parseTcp(text, "--theater-tcp"),
    )
    .option(
      "--manifests <dir>",
      "where guests' manifests and components may be named by a path (default: nowhere)",
      nonEmptyPath("a folder"),
    )
    .option("--insecure-no-auth", "with --theater-tcp: beyond this machine, though that protocol asks nobody who they are")
    .option("--insecure", "listen beyond loopback without tokens")
    .option(
      "--console",
      "a web page at /console that shows actors, their history and what clients do (docs/guide/console.md); dev has it without asking",
    )
    .option("--no-console", "with dev: without that page")
    .option("--allow-edit", "operators may edit states, in the console and with troupe edit; dev allows it anyway")
    .option("--rate <calls>", "requests a second for each principal; 0 for no limit", nonNegative)
    .option("--session-ttl <time>", "how long a session over HTTP lives without a request: 30d, 12h, 90m (default: 24h)", parseLifetime)
    .option(
      "--connections-per-peer <n>",
      "from one address beyond loopback, such as a proxy's; of IPv6 from one /64 (default: HTTP 256, TCP 64)",
      wholeNumber(1),
    )
    .option("--page-size <n>", "entries on one page of tools/list and the other lists (default: all)", wholeNumber(1))
    .option("--receipts", 'results carry _meta["troupe/receipt"]')
    .option("--telemetry", "spans and metrics for the OpenTelemetry SDK that Node was started with (docs/guide/telemetry.md)")
    .option("--grace <ms>", "how long running calls may take after SIGTERM", nonNegative, 5_000)
    .addOption(new Option("--log <level>", "to standard error").choices([...LOG_LEVELS]).default("info"))
    .option("--json", "machine-readable: one line when ready, JSON logs");

/** Whether there is a listener other than HTTP, which is the default. */
export const hasOtherListener = ({ stdio, tcp, theater, theaterTcp }: ServeOptions): boolean =>
  stdio === true || tcp !== undefined || (theaterTcp !== undefined && theater !== true);

/** Undefined if there is no HTTP. */
export const httpAddress = (options: ServeOptions): HostPort | undefined => {
  const at = options.http ?? (hasOtherListener(options) ? undefined : { host: "127.0.0.1", port: 3000 });
  if (options.sse === true && at === undefined) throw usage("--sse is beside MCP's HTTP: give --http, too.");
  return at;
};
