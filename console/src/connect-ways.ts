// Owns: how each MCP client, SDK and tool connects to this server, as text to copy. Does not own: what clients write into their settings
// (src/cli/install/entries.ts, as `troupe install` does), showing it (connect-dialog.tsx).
import type { JsonObject } from "../../src/core/contract/index.ts";
import { CLIENT_ENTRIES, type ClientEntry } from "../../src/cli/install/entries.ts";
import { envelope, modernHeaders } from "./mcp/wire.ts";
import { connecting, quoted } from "./ui/snippets.tsx";

export interface Way {
  readonly id: string;
  readonly title: string;
  readonly parts: readonly { readonly what: string; readonly text: string }[];
  /** It opens the client, which then asks whether to add the server. */
  readonly link?: string;
  readonly note?: string;
}

export interface Endpoint {
  /** What clients call it. */
  readonly name: string;
  readonly url: string;
  /** Clients need a key or a token. */
  readonly authenticated: boolean;
}

/** The variable of the environment with the token. */
const VARIABLE = "TROUPE_TOKEN";
/** Of clients whose settings must have the token itself. */
const PLACEHOLDER = "your-token";

export const waysTo = (endpoint: Endpoint): readonly Way[] => [
  claudeCode(endpoint),
  inSettings("claude-desktop", endpoint),
  inSettings("vscode", endpoint, (name, entry) => `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name, ...entry }))}`),
  inSettings(
    "cursor",
    endpoint,
    (name, entry) => `cursor://anysphere.cursor-deeplink/mcp/install?${new URLSearchParams({ name, config: btoa(JSON.stringify(entry)) })}`,
  ),
  others(endpoint),
  curl(endpoint),
  typeScript(endpoint),
  python(endpoint),
  inspector(endpoint),
];

const server = ({ url, authenticated }: Endpoint, value?: string) => ({
  how: "http" as const,
  url,
  ...(authenticated ? { token: { variable: VARIABLE, ...(value === undefined ? {} : { value }) } } : {}),
});

const install = (id: string, { name, url, authenticated }: Endpoint, writes = false): string =>
  `npx troupe install ${id} ${quoted(url)} --name ${name}${authenticated ? ` --token-env ${VARIABLE}${writes ? " --write-token" : ""}` : ""} --yes`;

function claudeCode(endpoint: Endpoint): Way {
  const { name, url, authenticated } = endpoint;
  const command = `claude mcp add --transport http ${name} ${quoted(url)}${authenticated ? ` --header "Authorization: Bearer $${VARIABLE}"` : ""}`;
  const { parts, ...rest } = inSettings("claude-code", endpoint);
  return { ...rest, parts: [{ what: "Command", text: command }, ...parts] };
}

function inSettings(
  id: "claude-code" | "claude-desktop" | "vscode" | "cursor",
  endpoint: Endpoint,
  link?: (name: string, entry: JsonObject) => string,
): Way {
  const { name } = endpoint;
  const { title, container, projectFile, entry, afterwards }: ClientEntry = CLIENT_ENTRIES[id];
  const isDesktop = id === "claude-desktop";
  const own = entry(name, server(endpoint, isDesktop ? PLACEHOLDER : undefined));
  return {
    id,
    title,
    parts: [
      {
        what: projectFile === undefined ? "In its settings" : `In ${projectFile}`,
        text: JSON.stringify({ [container]: { [name]: own } }, undefined, 2),
      },
      { what: "Or let Troupe write it into your settings", text: install(id, endpoint, isDesktop) },
    ],
    ...(link === undefined ? {} : { link: link(name, own) }),
    note: afterwards,
  };
}

const others = (endpoint: Endpoint): Way => ({
  id: "others",
  title: "Codex, Goose, Gemini CLI",
  parts: (["codex", "goose", "gemini"] as const).map((id) => ({ what: CLIENT_ENTRIES[id].title, text: install(id, endpoint) })),
  note: "Without --yes the command only shows what it would write.",
});

const REVISION = "2026-07-28";

function curl({ url, authenticated }: Endpoint): Way {
  const params = {
    _meta: envelope({ revision: REVISION, info: { name: "curl", version: "1" }, capabilities: {}, logLevel: undefined }),
  };
  const headers = { "mcp-protocol-version": REVISION, ...modernHeaders("tools/list", params, undefined) };
  const text = [
    `curl -sS ${quoted(url)}`,
    `-H 'Content-Type: application/json'`,
    `-H 'Accept: application/json, text/event-stream'`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(authenticated ? [`-H "Authorization: Bearer $${VARIABLE}"`] : []),
    `-d ${quoted(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params }))}`,
  ].join(" \\\n  ");
  return { id: "curl", title: "curl", parts: [{ what: `A request of ${REVISION}, without a session`, text }] };
}

const typeScript = ({ url, authenticated }: Endpoint): Way => ({
  id: "typescript",
  title: "TypeScript SDK",
  parts: [
    { what: "Install it", text: "npm install @modelcontextprotocol/client" },
    {
      what: "List the tools",
      text: [
        ...connecting(url, authenticated ? VARIABLE : undefined),
        "console.log(await client.listTools());",
        "await client.close();",
      ].join("\n"),
    },
  ],
});

function python({ url, authenticated }: Endpoint): Way {
  const at = JSON.stringify(url);
  const main = authenticated
    ? [
        "import asyncio",
        "import os",
        "import httpx2",
        "from mcp import Client",
        "from mcp.client.streamable_http import streamable_http_client",
        "",
        "async def main():",
        `    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {os.environ['${VARIABLE}']}"})`,
        `    async with http, Client(streamable_http_client(${at}, http_client=http)) as client:`,
      ]
    : ["import asyncio", "from mcp import Client", "", "async def main():", `    async with Client(${at}) as client:`];
  return {
    id: "python",
    title: "Python SDK",
    parts: [
      { what: "Install it", text: 'pip install "mcp>=2"' },
      { what: "List the tools", text: [...main, "        print(await client.list_tools())", "", "asyncio.run(main())"].join("\n") },
    ],
  };
}

const inspector = ({ url, authenticated }: Endpoint): Way => ({
  id: "inspector",
  title: "MCP Inspector",
  parts: [
    {
      what: "Command",
      text: `npx @modelcontextprotocol/inspector --transport http --server-url ${quoted(url)}${authenticated ? ` --header "Authorization: Bearer $${VARIABLE}"` : ""}`,
    },
  ],
});

/** Some clients take no other names. */
export const clientName = (name: string): string =>
  name
    .replaceAll(/[^\w-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 64) || "troupe";
