// Owns: which options of a server need others. Does not own: what each means (serve-options.ts).
import { isLoopback } from "../../mcp/transport/listen.ts";
import { usage } from "../command-error.ts";
import { hasOtherListener, httpAddress, type ServeOptions } from "../serve-options.ts";

interface OptionRequirement {
  readonly option: string;
  readonly given: boolean;
  readonly of: string;
  readonly there: boolean;
}

/**
 * Throws a `CommandError` for an option without the one that it needs. Ignoring a required scope that is never checked, for example, would
 * leave a server open that its operator believes to be closed.
 */
export const refuseUnusedOptions = (options: ServeOptions, inDevelopment: boolean): void => {
  const { packets, theater, theaterTcp, engine, jwks, apiKeys, stdio, tcp } = options;
  const asks = jwks !== undefined || apiKeys !== undefined || options.issuer !== undefined;
  const overHttp = options.http !== undefined || !hasOtherListener(options);
  const tokens = "those who send tokens: give --api-keys or --jwks";
  const issued = "tokens of an issuer: give --jwks and --issuer";
  const nodes = "nodes of a cluster: give --engine";
  const idle: readonly OptionRequirement[] = [
    { option: "--require-scope", given: options.requireScope !== undefined, of: tokens, there: asks },
    { option: "--resource", given: options.resource !== undefined, of: tokens, there: asks },
    { option: "--audience", given: options.audience !== undefined, of: issued, there: jwks !== undefined },
    { option: "--token-type", given: options.tokenType !== undefined, of: issued, there: jwks !== undefined },
    { option: "--claims", given: options.claims !== undefined, of: issued, there: jwks !== undefined },
    { option: "--scopes-claim", given: options.scopesClaim !== undefined, of: issued, there: jwks !== undefined },
    {
      option: "--no-auth",
      given: !options.auth,
      of: "packets and Theater's tools: give --packets or --theater",
      there: packets !== undefined || theater === true,
    },
    {
      option: "--insecure-no-auth",
      given: options.insecureNoAuth === true,
      of: "Theater's management protocol: give --theater-tcp",
      there: theaterTcp !== undefined,
    },
    {
      option: "--manifests",
      given: options.manifests !== undefined,
      of: "guests, and none run here: give --theater or --theater-tcp",
      there: theater === true || theaterTcp !== undefined,
    },
    {
      option: "--as",
      given: options.as !== undefined,
      of: "the client on stdio or a Unix socket: give --stdio or --tcp with a path",
      there: stdio === true || (tcp !== undefined && "path" in tcp) || (inDevelopment && overHttp && !asks),
    },
    {
      option: "--scope",
      given: options.scope !== undefined,
      of: "the principal of --as (of tokens, --require-scope): give --as",
      there: options.as !== undefined,
    },
    { option: "--console", given: options.console === true, of: "a page next to MCP's HTTP: give --http", there: overHttp },
    { option: "--session-ttl", given: options.sessionTtl !== undefined, of: "sessions over HTTP: give --http", there: overHttp },
    {
      option: "--connections-per-peer",
      given: options.connectionsPerPeer !== undefined,
      of: "HTTP and TCP: give --http, or --tcp with a port",
      there: overHttp || (tcp !== undefined && "port" in tcp),
    },
    { option: "--node", given: options.node !== undefined, of: nodes, there: engine !== undefined },
    { option: "--advertise", given: options.advertise !== undefined, of: nodes, there: engine !== undefined },
    { option: "--secret-file", given: options.secretFile !== undefined, of: nodes, there: engine !== undefined },
    { option: "--identity-key", given: options.identityKey !== undefined, of: nodes, there: engine !== undefined },
  ];
  const first = idle.find(({ given, there }) => given && !there);
  if (first?.option === "--as" && inDevelopment && overHttp)
    throw usage(
      "--as does not go with keys or tokens over HTTP: the server requires them (apiKeys, jwks or issuer, as a flag, a variable or in troupe.config.ts), and they say who calls. Leave --as away and send a key, or add --no-config to start without the file.",
    );
  if (first !== undefined) throw usage(`${first.option} is for ${first.of}, or leave it away.`);
};

/**
 * Whether there is a console: if it was requested, and in development on this machine. Throws a `CommandError` if everyone who reaches the
 * server could use it.
 */
export const wantsConsole = (options: ServeOptions, inDevelopment: boolean): boolean => {
  const at = httpAddress(options);
  if (options.console === false || at === undefined) return false;
  const authenticated = options.apiKeys !== undefined || options.jwks !== undefined;
  const exposed = !isLoopback(at.host) && !authenticated;
  if (options.console !== true) return inDevelopment && !exposed;
  if (exposed)
    throw usage(
      `--console shows and changes every actor, so beyond this machine its users sign in: give --api-keys or --jwks, or --http 127.0.0.1:${at.port}.`,
    );
  return true;
};
