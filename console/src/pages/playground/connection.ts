// Owns: the playground's connection: whom it connects as, what the server offers, the messages so far. Does not own: the protocol
// (mcp/client.ts), and the calls that were made (calls.ts).
import { signal } from "@preact/signals";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import type { ViewerToken } from "../../../../src/bridges/console/shapes.ts";
import { about, can } from "../../about.ts";
import { ApiError, post } from "../../api.ts";
import { listIn, objectIn, textIn } from "../../json.ts";
import { McpClient, McpError, type WireEntry } from "../../mcp/client.ts";
import { APP_TYPE, APPS, REVISIONS, TASKS } from "../../mcp/wire.ts";
import { askUser, dropQuestions } from "../../questions.ts";
import { token as consoleToken } from "../../session.ts";
import { type Caller, callerInAddress, callerParameters, viewerShape } from "../../viewer.ts";

export type Status = "closed" | "connecting" | "open" | "lost" | "failed";

export type ListName = "tools" | "resources" | "templates" | "prompts";

export interface WireRow extends WireEntry {
  readonly n: number;
}

export interface LogRow {
  readonly n: number;
  readonly at: number;
  readonly level: string;
  readonly logger?: string;
  readonly data: JsonObject;
}

const MAX_WIRE = 500;
const MAX_LOGS = 500;
const MAX_PAGES = 64;
const REVISION = "troupe-console-revision";

const storedRevision = localStorage.getItem(REVISION);

export const revision = signal(REVISIONS.find((one) => one === storedRevision) ?? "2026-07-28");

/** By whose token MCP is called: the console's own, another, none, or one that the server makes for a viewer. */
export type Identity =
  | { readonly by: "console" | "none" }
  | { readonly by: "token"; readonly token: string }
  | { readonly by: "viewer"; readonly viewer: Caller };

/** It changes by connecting only. */
export const identity = signal<Identity>({ by: "console" });
export const status = signal<Status>("closed");
export const problem = signal<string | undefined>(undefined);
export const client = signal<McpClient | undefined>(undefined);
export const lists = signal<Readonly<Record<ListName, readonly JsonObject[] | undefined>>>({
  tools: undefined,
  resources: undefined,
  templates: undefined,
  prompts: undefined,
});
/** When a list last changed by itself: its heading then flashes. */
export const listChanges = signal<Readonly<Partial<Record<ListName, number>>>>({});
export const wire = signal<readonly WireRow[]>([]);
export const logs = signal<readonly LogRow[]>([]);
export const logLevel = signal("");
/** URI → how often it was updated since it was subscribed to. */
export const subscriptions = signal<Readonly<Record<string, number>>>({});

let count = 0;
const next = (): number => (count += 1);

/** In the address, so that a link leads to the same. */
export function identityParameters(): [name: string, value: string][] {
  const as = identity.value;
  if (as.by === "console") return [];
  return [["by", as.by], ...(as.by === "viewer" ? callerParameters(as.viewer) : [])];
}

/** Undefined: it names none that the page can connect by. */
export function identityInAddress(): Identity | undefined {
  const by = new URLSearchParams(location.search).get("by");
  if (by === "none") return { by };
  return by === "viewer" && can("connect-as") ? { by, viewer: callerInAddress() } : undefined;
}

export const isSameIdentity = (one: Identity, other: Identity): boolean => JSON.stringify(one) === JSON.stringify(other);

export async function connect(as: Identity = identity.peek()): Promise<void> {
  disconnect();
  identity.value = as;
  localStorage.setItem(REVISION, revision.value);
  const path = about.value?.mcp;
  if (path === undefined) {
    status.value = "failed";
    problem.value = "This server serves no MCP over HTTP.";
    return;
  }
  status.value = "connecting";
  try {
    const token = await tokenOf(as);
    // Another connection was begun meanwhile.
    if (identity.peek() !== as) return;
    const opened = await McpClient.connect({
      url: new URL(path, location.origin).href,
      revision: revision.value,
      ...(token === undefined ? {} : { token }),
      info: { name: "troupe-playground", title: "Troupe playground", version: about.value?.version ?? "0" },
      capabilities: {
        elicitation: { form: {}, url: {} },
        extensions: { [APPS]: { mimeTypes: [APP_TYPE] }, ...(revision.value >= "2026" ? { [TASKS]: {} } : {}) },
      },
      hooks: {
        onWire: (entry) => (wire.value = [...wire.value.slice(1 - MAX_WIRE), { ...entry, n: next() }]),
        onNotification,
        onQuestion: askUser,
        onLost: (why) => {
          status.value = "lost";
          problem.value = why;
        },
      },
    });
    client.value = opened;
    status.value = "open";
    if (logLevel.value !== "") await opened.setLogLevel(logLevel.value);
    await Promise.all(LISTS.map((list) => load(list)));
  } catch (error) {
    status.value = "failed";
    problem.value = reason(error);
  }
}

async function tokenOf(as: Identity): Promise<string | undefined> {
  switch (as.by) {
    case "viewer":
      return (await post<ViewerToken>("/viewer-tokens", viewerShape(as.viewer))).token;
    case "token":
      return as.token;
    case "console":
      return consoleToken.value;
    default:
      return undefined;
  }
}

export function disconnect(): void {
  client.value?.close();
  client.value = undefined;
  status.value = "closed";
  problem.value = undefined;
  subscriptions.value = {};
  lists.value = { tools: undefined, resources: undefined, templates: undefined, prompts: undefined };
  dropQuestions();
}

const LISTS: readonly ListName[] = ["tools", "resources", "templates", "prompts"];
const METHODS: Readonly<Record<ListName, readonly [capability: string, method: string, member: string]>> = {
  tools: ["tools", "tools/list", "tools"],
  resources: ["resources", "resources/list", "resources"],
  templates: ["resources", "resources/templates/list", "resourceTemplates"],
  prompts: ["prompts", "prompts/list", "prompts"],
};

async function load(list: ListName): Promise<void> {
  const from = client.value;
  if (from === undefined) return;
  const [capability, method, member] = METHODS[list];
  const found: JsonObject[] = [];
  if (capability in from.capabilities) {
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const result = await from.request(method, cursor === undefined ? {} : { cursor });
      found.push(...listIn(result, member));
      cursor = textIn(result, "nextCursor");
      if (cursor === undefined) break;
    }
  }
  if (client.value === from) lists.value = { ...lists.value, [list]: found };
}

// A list that changes often is loaded once at a time, and once more after that.
const loading = new Map<ListName, boolean>();

function reload(list: ListName): void {
  if (loading.has(list)) {
    loading.set(list, true);
    return;
  }
  loading.set(list, false);
  void load(list)
    .then(() => (listChanges.value = { ...listChanges.value, [list]: Date.now() }))
    .catch((error: unknown) => (problem.value = reason(error)))
    .finally(() => {
      const again = loading.get(list);
      loading.delete(list);
      if (again === true) reload(list);
    });
}

function onNotification(method: string, params: JsonObject): void {
  if (method === "notifications/tools/list_changed") reload("tools");
  else if (method === "notifications/prompts/list_changed") reload("prompts");
  else if (method === "notifications/resources/list_changed") {
    reload("resources");
    reload("templates");
  } else if (method === "notifications/resources/updated") {
    const uri = textIn(params, "uri") ?? "";
    if (Object.hasOwn(subscriptions.value, uri))
      subscriptions.value = { ...subscriptions.value, [uri]: (subscriptions.value[uri] ?? 0) + 1 };
  } else if (method === "notifications/message") {
    const logger = textIn(params, "logger");
    const row = {
      n: next(),
      at: Date.now(),
      level: textIn(params, "level") ?? "info",
      ...(logger === undefined ? {} : { logger }),
      data: params,
    };
    logs.value = [...logs.value.slice(1 - MAX_LOGS), row];
  }
}

export async function subscribe(uri: string): Promise<void> {
  subscriptions.value = { ...subscriptions.value, [uri]: 0 };
  await client.value?.subscribe(uri);
}

export async function unsubscribe(uri: string): Promise<void> {
  const { [uri]: _, ...rest } = subscriptions.value;
  subscriptions.value = rest;
  await client.value?.unsubscribe(uri);
}

/** Values for an argument that begin with what was typed; none where the server cannot complete it. */
export async function complete(
  ref: JsonObject,
  name: string,
  value: string,
  known: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const from = client.value;
  if (from === undefined || !("completions" in from.capabilities)) return [];
  try {
    const result = await from.request("completion/complete", { ref, argument: { name, value }, context: { arguments: known } });
    const values = objectIn(result, "completion")["values"];
    return Array.isArray(values) ? values.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** A failure in words. */
export function reason(error: unknown): string {
  if (error instanceof McpError || error instanceof ApiError) return error.message;
  if (error instanceof DOMException && error.name === "AbortError") return "It was cancelled.";
  return error instanceof TypeError ? "The server does not answer. It may have stopped or be restarting." : String(error);
}
