import type { JsonObject, Caller, Channel, Exchange, Json, SessionRow, SessionStore, StreamStore } from "../../core/contract/index.ts";
import { registry, type Registry } from "../source/index.ts";
import { createGateway } from "./gateway.ts";
import type { GatewayOptions } from "./options.ts";

export function sessionsDouble(): SessionStore & { readonly rows: Map<string, SessionRow> } {
  const rows = new Map<string, SessionRow>();
  return {
    rows,
    async put(row) {
      rows.set(row.id, row);
    },
    get: async (id) => rows.get(id),
    async touch(id, seenAt) {
      const row = rows.get(id);
      if (row !== undefined) rows.set(id, { ...row, seenAt });
    },
    async delete(id) {
      rows.delete(id);
    },
    async expire(seenBefore) {
      const old = [...rows.values()].filter((row) => row.seenAt < seenBefore).map((row) => row.id);
      for (const id of old) rows.delete(id);
      return old;
    },
    async [Symbol.asyncDispose]() {},
  };
}

export function streamsDouble(): StreamStore {
  const stored = new Map<string, { readonly id: string; readonly stream: string; readonly message: Json }[]>();
  return {
    async append(session, stream, message) {
      const of = stored.get(session) ?? [];
      stored.set(session, of);
      const id = `e${of.length + 1}`;
      of.push({ id, stream, message });
      return id;
    },
    async after(session, eventId) {
      const of = stored.get(session) ?? [];
      const at = of.findIndex((event) => event.id === eventId);
      const found = of[at];
      if (found === undefined) return undefined;
      return { stream: found.stream, messages: of.slice(at + 1).filter((event) => event.stream === found.stream) };
    },
    async delete(session) {
      stored.delete(session);
    },
    async [Symbol.asyncDispose]() {},
  };
}

const form = (message: string): { readonly method: string; readonly params: JsonObject } => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties: { n: { type: "number" } } } },
});

/** A small world: a door that opens and shuts, which changes what can be done. */
export interface World {
  readonly source: Registry;
  open: boolean;
  calls: number;
  /** How long `slow` takes. */
  slowMs: number;
  set(open: boolean): void;
}

export function world(): World {
  const made: World = {
    open: false,
    calls: 0,
    slowMs: 30,
    set(open) {
      made.open = open;
      made.source.relist();
      made.source.changed("door");
    },
    source: registry({
      instructions: "A door.",
      tools: {
        look: { description: "Look.", title: "Look", annotations: { readOnlyHint: true }, work: () => (made.open ? "Open." : "Shut.") },
        open: {
          description: "Open it.",
          input: { type: "object", properties: { how: { type: "string", enum: ["softly", "loudly"] } }, additionalProperties: false },
          enabled: () => !made.open || "It is open.",
          work() {
            made.calls += 1;
            made.set(true);
            return { open: true };
          },
        },
        shut: {
          description: "Shut it.",
          enabled: () => made.open,
          work() {
            made.calls += 1;
            made.set(false);
            return null;
          },
        },
        measure: {
          description: "How wide?",
          output: { type: "object", properties: { cm: { type: "number" } }, required: ["cm"] },
          work: () => ({ cm: 90 }),
        },
        list: { description: "Parts.", work: () => ["hinge", "handle"] },
        slow: {
          description: "Waits.",
          async work(context) {
            context.progress(1, 2, "half");
            context.log("info", { at: "half" });
            context.progress(1, 2, "again");
            await new Promise((resolve, reject) => {
              const timer = setTimeout(resolve, made.slowMs);
              const aborted = (): void => {
                clearTimeout(timer);
                reject(new Error("aborted"));
              };
              context.signal.addEventListener("abort", aborted, { once: true });
            });
            made.calls += 1;
            return "done";
          },
        },
        confirm: {
          description: "Asks.",
          work(context) {
            const { sure } = context.ask({
              sure: {
                method: "elicitation/create",
                params: {
                  message: "Sure?",
                  requestedSchema: { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] },
                },
              },
            });
            made.calls += 1;
            return { sure: sure ?? null };
          },
        },
        twice: {
          description: "Asks twice.",
          work(context) {
            const { first } = context.ask({ first: form("One?") });
            const { second } = context.ask({ second: form("Two?") });
            return { first: first ?? null, second: second ?? null };
          },
        },
        fails: {
          description: "Throws.",
          work() {
            throw new Error("secret detail");
          },
        },
        region: {
          description: "Mirrors an argument.",
          input: {
            type: "object",
            properties: { region: { type: "string", "x-mcp-header": "Region" }, size: { type: "integer", "x-mcp-header": "Size" } },
          },
          work: ({ args }) => args["region"] ?? null,
        },
      },
      resources: {
        door: { uri: "door://state", description: "The door.", mimeType: "application/json", view: () => ({ open: made.open }) },
        part: {
          uri: "door://part/{name}",
          description: "A part.",
          view: ({ args }) => `part ${String(args["name"])}`,
          complete: { name: ({ value }) => ["hinge", "handle"].filter((one) => one.startsWith(value)) },
        },
        hidden: { uri: "door://hidden", enabled: () => made.open, view: () => "inside" },
      },
      prompts: {
        knock: {
          description: "Knock.",
          arguments: [{ name: "times", description: "How often", required: true }],
          view: ({ args }) => `Knock ${String(args["times"])} times.`,
        },
      },
    }),
  };
  return made;
}

export function gatewayOf(source: GatewayOptions["source"], more: Partial<GatewayOptions> = {}): ReturnType<typeof createGateway> {
  return createGateway({
    source,
    info: { name: "test", version: "1.0.0", title: "Test" },
    sessions: sessionsDouble(),
    streams: streamsDouble(),
    ...more,
  });
}

export interface SentEvent {
  readonly text: string;
  readonly id?: string;
  readonly retryMs?: number;
  readonly event?: string;
}

/** An event stream a test reads. */
export interface ReadChannel extends Channel {
  readonly events: SentEvent[];
  readonly messages: JsonObject[];
  readonly ended: boolean;
  block(): void;
  unblock(): void;
  leave(): void;
}

export function channelDouble(): ReadChannel {
  const disconnected = new AbortController();
  const onReady = new Set<() => void>();
  const state = { ready: true, ended: false };
  const events: SentEvent[] = [];
  return {
    events,
    get messages() {
      return events.filter((event) => event.text !== "").map((event): JsonObject => JSON.parse(event.text));
    },
    get ended() {
      return state.ended;
    },
    get ready() {
      return state.ready;
    },
    disconnected: disconnected.signal,
    send(text, id, retryMs, event) {
      if (disconnected.signal.aborted || state.ended) return;
      events.push({
        text,
        ...(id === undefined ? {} : { id }),
        ...(retryMs === undefined ? {} : { retryMs }),
        ...(event === undefined ? {} : { event }),
      });
    },
    onReady(run) {
      onReady.add(run);
      return () => void onReady.delete(run);
    },
    close() {
      state.ended = true;
    },
    block() {
      state.ready = false;
    },
    unblock() {
      state.ready = true;
      for (const run of onReady) run();
    },
    leave() {
      disconnected.abort();
    },
  };
}

export interface Sent {
  readonly exchange: Exchange;
  readonly channel: ReadChannel;
  readonly opened: () => boolean;
  /** More headers of the event stream. */
  readonly head: () => Readonly<Record<string, string>>;
  readonly leave: () => void;
}

/** One HTTP request as a transport passes it on. */
export function exchangeOf(
  verb: Exchange["verb"],
  headers: Readonly<Record<string, string>>,
  body?: unknown,
  caller: Caller = { scopes: [], peer: "127.0.0.1" },
  posture?: "meta",
): Sent {
  const disconnected = new AbortController();
  const channel = channelDouble();
  const state: { opened: boolean; head: Readonly<Record<string, string>> } = { opened: false, head: {} };
  const bytes =
    body === undefined
      ? undefined
      : body instanceof Uint8Array
        ? body
        : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return {
    channel,
    opened: () => state.opened,
    head: () => state.head,
    leave() {
      disconnected.abort();
      channel.leave();
    },
    exchange: {
      verb,
      header: (name) => headers[name],
      ...(bytes === undefined ? {} : { body: bytes }),
      caller,
      ...(posture === undefined ? {} : { posture }),
      stream(more = {}) {
        if (!state.opened) state.head = more;
        state.opened = true;
        return channel;
      },
      disconnected: disconnected.signal,
    },
  };
}

export function bodyOf(answer: { readonly body?: string | Uint8Array | readonly (string | Uint8Array)[] }): JsonObject {
  const { body } = answer;
  const parts = body === undefined ? [] : typeof body === "string" || body instanceof Uint8Array ? [body] : body;
  return JSON.parse(parts.map((part) => (typeof part === "string" ? part : Buffer.from(part).toString())).join(""));
}

/** Waits until that is true, for a great many rounds of the event loop. */
export async function until(holds: () => boolean): Promise<void> {
  for (let round = 0; !holds(); round += 1) {
    if (round > 1_000_000) throw new Error(`It never came to hold: ${holds.toString()}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Waits long enough for everything that happens by itself. */
export async function quiet(): Promise<void> {
  for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

export const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
