// Owns: what a person reads when a server is ready. Does not own: the JSON line for programs (commands/serve.ts).
import type { Catalogue } from "../../core/contract/index.ts";
import { counted, omitUndefined } from "../../core/contract/internal.ts";
import type { LoadedModule } from "../load-modules.ts";
import { type Painter, shellWord } from "../output.ts";
import { type KindCount, type NodeAddress, SERVE_THEM_TOO } from "./backend.ts";
import type { Addresses } from "./listeners.ts";

/** What the banner is made of. */
export interface BannerInfo {
  readonly name: string;
  readonly parts: readonly LoadedModule[];
  readonly files: readonly string[];
  readonly addresses: Addresses;
  readonly data: string | undefined;
  readonly node?: NodeAddress | undefined;
  readonly unserved: readonly KindCount[];
  /** Whether clients need an API key. */
  readonly needsKey: boolean;
  /** Whether standard input is a terminal, where a client is expected. */
  readonly isInteractive: boolean;
}

const KEY = '--header "Authorization: Bearer YOUR-KEY"';

export const banner = (facts: BannerInfo, paint: Painter): string => {
  const { name, addresses, data, node, unserved } = facts;
  const rows: (readonly [what: string, value: string])[] = [];
  const row = (what: string, value: string): void => void rows.push([what, value]);
  if (addresses.http !== undefined && facts.parts.length > 0) {
    row("HTTP", paint("cyan", addresses.http));
    row("", `${addresses.meta} for clients that load the list of tools only once`);
    if (addresses.sse !== undefined) row("", `${addresses.sse} for clients that know HTTP+SSE only`);
  }
  if (addresses.console !== undefined) row("Console", paint("cyan", addresses.console));
  if (addresses.tcp !== undefined) row("TCP", paint("cyan", addresses.tcp));
  if (addresses.packets !== undefined) row("Packets", paint("cyan", addresses.packets));
  if (addresses.packetsTcp !== undefined)
    row(addresses.packets === undefined ? "Packets" : "", `${paint("cyan", addresses.packetsTcp)}, one a line`);
  if (addresses.theater !== undefined) row("Theater", `${paint("cyan", addresses.theater)}, over MCP`);
  if (addresses.theaterTcp !== undefined)
    row(addresses.theater === undefined ? "Theater" : "", `${paint("cyan", addresses.theaterTcp)}, its management protocol`);
  if (addresses.stdio) row("stdio", "this process");
  if (node === undefined) row("Data", data ?? "none: nothing is stored on disk");
  else {
    row("Node", paint("cyan", node.url));
    row("Data", `on the Restate server at ${node.engine}`);
  }
  const width = Math.max(...rows.map(([what]) => what.length), "stdio".length);
  const lines = [`${paint("bold", name)} is served: ${contents(facts.parts, addresses)}.`, ""];
  lines.push(
    ...rows.map(([what, value]) => `  ${what.padEnd(width)}  ${value}`),
    "",
    ...connectLines({ ...facts, addresses: clientAddresses(facts) }),
  );
  if (unserved.length > 0) {
    const kinds = unserved.map(({ kind, actors }) => `${kind} (${counted(actors, "actor")})`).join(", ");
    lines.push(`${paint("yellow", "Not served")}: ${kinds}, kept there too.`, SERVE_THEM_TOO, "");
  }
  return [...lines, paint("dim", "Ctrl-C stops it.")].join("\n");
};

/** Without modules nothing is served at /mcp: clients connect to the guests' path. */
const clientAddresses = ({ parts, addresses: { http, theater, stdio } }: BannerInfo): Connecting["addresses"] =>
  omitUndefined({ http: parts.length > 0 ? http : theater, stdio });

type Connecting = Pick<BannerInfo, "name" | "files" | "data" | "needsKey" | "isInteractive"> & {
  readonly addresses: Pick<Addresses, "http" | "stdio">;
};

/** Lines that say how a client connects. */
export const connectLines = ({ name, files, addresses: { http, stdio }, data, needsKey, isInteractive }: Connecting): readonly string[] => {
  const short = commandName(name);
  const lines: string[] = [];
  if (http !== undefined) {
    const key = needsKey ? ` ${KEY}` : "";
    const server = { type: "http", url: http, ...(needsKey ? { headers: { Authorization: "Bearer YOUR-KEY" } } : {}) };
    lines.push(
      "Connect a client:",
      `  claude mcp add --transport http ${short} ${http}${key}`,
      "or have its settings changed (cursor, vscode, claude-desktop, codex, goose, gemini):",
      `  npx troupe install cursor ${http} --name ${short}${needsKey ? " --token-env TROUPE_TOKEN" : ""} --yes`,
      "or write into them yourself:",
      `  ${JSON.stringify({ mcpServers: { [short]: server } })}`,
      "or look at it:",
      // The inspector guesses the transport only for addresses that end with /mcp.
      `  npx --yes @modelcontextprotocol/inspector@2 --cli ${http}${http.endsWith("/mcp") ? "" : " --transport http"} --method tools/list${key}`,
      "",
    );
  }
  if (stdio === true && isInteractive)
    lines.push(
      "A client starts it itself:",
      `  claude mcp add ${short} -- troupe serve ${[...files, "--stdio", ...(data === undefined ? [] : ["--data", data])].map(shellWord).join(" ")}`,
      "",
    );
  return lines;
};

/** A name that shells and clients' settings accept. */
const commandName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "") || "troupe";

const contents = (parts: readonly LoadedModule[], { theater, theaterTcp }: Addresses): string => {
  const kinds = parts.flatMap((part) => part.cast);
  const sources = parts.flatMap((part) => part.sources);
  const indexes = parts.flatMap((part) => part.indexes);
  const ofIndexes = {
    tools: indexes.filter(({ tool }) => tool !== undefined).length,
    resources: indexes.filter(({ uri }) => uri !== undefined).length,
    prompts: 0,
  };
  const what = [
    ...(kinds.length > 0 ? [counted(kinds.length, "kind of actors", "kinds of actors")] : []),
    ...(indexes.length > 0 ? [counted(indexes.length, "index", "indexes")] : []),
    ...(sources.length > 0 ? [counted(sources.length, "source")] : []),
  ];
  const catalogues = [...kinds.flatMap((kind) => kind.catalogue ?? []), ...sources.flatMap(immediateCatalogue)];
  const offers = (["tools", "resources", "prompts"] as const).flatMap((list) => {
    const ofActors = catalogues.reduce((sum, catalogue) => sum + catalogue[list].length, 0);
    const count = ofActors + ofIndexes[list];
    return count > 0 ? [counted(count, list.slice(0, -1))] : [];
  });
  const actors = `${joined(what)}${offers.length > 0 ? ` with ${joined(offers)}` : ""}`;
  // Their tools are not counted, since the configuration decides how many are exposed.
  const capabilities = parts.reduce((sum, part) => sum + part.capabilities.length, 0);
  const besides = [
    ...(capabilities === 0 ? [] : [counted(capabilities, "capability", "capabilities")]),
    ...(theater === undefined && theaterTcp === undefined ? [] : ["WebAssembly guests"]),
  ];
  return [actors, joined(besides)].filter((one) => one !== "").join(", and ");
};

/** The catalogue of a source that returns it synchronously; the banner does not wait for others. */
const immediateCatalogue = (source: LoadedModule["sources"][number]): readonly Catalogue[] => {
  try {
    const surface = source.surface({ scopes: [] });
    if ("catalogue" in surface) return [surface.catalogue];
    surface.catch(() => undefined);
  } catch {
    // The error is reported when a client requests it.
  }
  return [];
};

const joined = (words: readonly string[]): string =>
  words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words.join("");
