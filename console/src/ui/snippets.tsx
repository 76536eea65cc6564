// Owns: one call, written for other tools: curl, a client in TypeScript, the command line. Does not own: making the call.
import { useSignal } from "@preact/signals";
import type { JsonObject } from "../../../src/core/contract/index.ts";
import type { About, CallInput, OfferShape } from "../../../src/bridges/console/shapes.ts";
import { actorPath } from "../api.ts";
import { BASE } from "../base-path.ts";
import { CopyButton } from "./copy.tsx";
import "./snippets.css";

export interface SnippetCall {
  readonly actor: string;
  readonly offer: Pick<OfferShape, "ref" | "list" | "name" | "definition">;
  readonly input: CallInput;
}

const WAYS = ["curl", "TypeScript", "CLI"] as const;
type Way = (typeof WAYS)[number];

export function Snippets({ call, about }: { readonly call: SnippetCall; readonly about: About }) {
  const way = useSignal<Way>("curl");
  const text = write[way.value](call, about);
  return (
    <div class="snippets">
      <div class="row" role="group" aria-label="The same call with">
        {WAYS.map((one) => (
          <button key={one} type="button" class="small" aria-pressed={one === way.value} onClick={() => (way.value = one)}>
            {one}
          </button>
        ))}
        <span class="grow" />
        <CopyButton text={text} what="the call" />
      </div>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard */}
      <pre tabIndex={0} aria-label={`The same call with ${way.value}`}>
        {text}
      </pre>
    </div>
  );
}

/** A client in TypeScript that connects. `token`: the variable of the environment that has one. */
export const connecting = (url: string, token?: string): readonly string[] => [
  `import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";`,
  "",
  `const client = new Client({ name: "example", version: "1.0.0" });`,
  ...(token === undefined
    ? [`await client.connect(new StreamableHTTPClientTransport(new URL(${JSON.stringify(url)})));`]
    : [
        `const requestInit = { headers: { Authorization: \`Bearer \${process.env.${token}}\` } };`,
        `await client.connect(new StreamableHTTPClientTransport(new URL(${JSON.stringify(url)}), { requestInit }));`,
      ]),
];

/** One word of a POSIX shell, whatever it has. */
export const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

const write: Readonly<Record<Way, (call: SnippetCall, about: About) => string>> = {
  curl: ({ actor, input }) =>
    [
      `curl -sS ${quoted(`${location.origin}${BASE}/api${actorPath(actor)}/call`)}`,
      `-H "Authorization: Bearer $TROUPE_TOKEN"`,
      `-H 'Content-Type: application/json'`,
      `-d ${quoted(JSON.stringify(input))}`,
    ].join(" \\\n  "),

  TypeScript: ({ actor, offer, input }, about) => {
    const args = input.arguments ?? {};
    const isLinked = about.kinds.some(({ kind, per }) => per === "link" && actor.startsWith(`${kind}/`));
    return [
      ...connecting(new URL(about.mcp ?? "/mcp", location.origin).href),
      ...(isLinked
        ? ["// Clients reach this actor by a link: the name in their list has the link's prefix, and perhaps its key as an argument."]
        : []),
      `const result = ${request(offer, args)};`,
      `console.log(result);`,
      `await client.close();`,
    ].join("\n");
  },

  CLI: ({ actor, input }, { place, engine }) => {
    const { as: viewer, arguments: args, offer, begin = false } = input;
    return [
      `npx troupe call ${quoted(actor)} ${quoted(offer)}`,
      ...(args === undefined || Object.keys(args).length === 0 ? [] : [quoted(JSON.stringify(args))]),
      ...(begin ? ["--start"] : []),
      ...(viewer?.principal === undefined ? [] : [`--as ${quoted(viewer.principal)}`]),
      ...(viewer?.scopes ?? []).map((scope) => `--scope ${quoted(scope)}`),
      ...Object.entries(viewer?.claims ?? {}).flatMap(([name, value]) =>
        (Array.isArray(value) ? value : [value]).map(
          (one) => `--claim ${quoted(`${name}=${typeof one === "string" ? one : JSON.stringify(one)}`)}`,
        ),
      ),
      ...(place === undefined ? [] : [`${engine === "restate" ? "--engine" : "--data"} ${quoted(place)}`]),
    ].join(" \\\n  ");
  },
};

function request({ list, name, definition }: SnippetCall["offer"], args: JsonObject): string {
  const text = JSON.stringify(args, undefined, 2);
  if (list === "tools") return `await client.callTool({ name: ${JSON.stringify(name)}, arguments: ${text} })`;
  if (list === "prompts") return `await client.getPrompt({ name: ${JSON.stringify(name)}, arguments: ${text} })`;
  return `await client.readResource({ uri: ${JSON.stringify(uriOf(definition, args))} })`;
}

/** The URI of a resource, with its arguments in the places of its template. */
function uriOf({ uri, uriTemplate }: JsonObject, args: JsonObject): string {
  if (typeof uriTemplate !== "string") return typeof uri === "string" ? uri : "";
  return uriTemplate.replaceAll(/\{(\+?)(\w+)\}/g, (whole, raw: string, name: string) => {
    const value = args[name];
    if (value === undefined) return whole;
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return raw === "" ? encodeURIComponent(text) : text;
  });
}
