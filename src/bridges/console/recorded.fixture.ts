// A server over HTTP whose clients are recorded, with its console, for the tests of live data.
import assert from "node:assert/strict";
import * as z from "zod";
import { actor, refuse } from "../../core/actor/index.ts";
import { type Gateway, isJsonObject, type Json, type JsonObject, systemClock } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memorySessionStore, memoryStreamStore } from "../../core/store/index.ts";
import { createGateway } from "../../mcp/gateway/index.ts";
import { cast } from "../../mcp/source/index.ts";
import { serveHttp } from "../../mcp/transport/index.ts";
import { engineReader } from "../operate/index.ts";
import { consoleFor } from "./console.ts";
import type { ConsoleData } from "./data.ts";
import { type LiveRecorder, recordLive } from "./live.ts";

const TOKEN = "t".repeat(43);

export const safe = actor("safe", {
  description: "A safe that everybody shares.",
  per: "shared",
  persistence: "memory",
  state: z.object({ opened: z.number().default(0) }),
  tools: {
    open: {
      description: "Opens it.",
      input: z.object({ code: z.string(), note: z.string().optional() }),
      secret: ["code"],
      run({ state, args }) {
        if (args.code === "wrong") return refuse("The code is wrong.", { code: "WRONG_CODE" });
        state.opened += 1;
        return `Opened with ${args.code}.`;
      },
    },
    look: { description: "How often it was opened.", view: ({ state }) => `Opened ${state.opened} times.` },
    wait: {
      description: "Waits until it is cancelled.",
      task: "optional",
      async work({ signal, progress }) {
        progress(1, 2, "half");
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
        return "done";
      },
    },
  },
});

export interface Answered {
  readonly status: number;
  readonly body: JsonObject;
}

/** A text as it is; other values as JSON. */
export const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : JSON.stringify(value ?? null));

const object = (value: unknown): JsonObject => (isJsonObject(value) ? value : { value: String(value) });

/** What a test requests of the server and its console. */
export class RecordedServer implements AsyncDisposable {
  readonly engine: LocalEngine;
  readonly gateway: Gateway;
  readonly live: LiveRecorder;
  readonly origin: string;
  readonly #opened: AsyncDisposableStack;
  #id = 0;

  private constructor(engine: LocalEngine, gateway: Gateway, live: LiveRecorder, origin: string, opened: AsyncDisposableStack) {
    this.engine = engine;
    this.gateway = gateway;
    this.live = live;
    this.origin = origin;
    this.#opened = opened;
  }

  static async start(more: Partial<ConsoleData> = {}): Promise<RecordedServer> {
    await using opened = new AsyncDisposableStack();
    const live = opened.use(recordLive());
    const engine = opened.use(await LocalEngine.start({ kinds: [safe], observer: live.observer }));
    const source = cast({ engine, kinds: [safe] });
    const gateway = opened.use(
      createGateway({
        source,
        info: { name: "test", version: "1" },
        sessions: memorySessionStore(),
        streams: memoryStreamStore(),
        observer: live.observer,
      }),
    );
    const endpoints = consoleFor({
      about: { name: "test", version: "1", engine: "memory", development: true, docs: "https://example.com/docs" },
      reader: engineReader(() => engine),
      running: () => ({ engine, kinds: [safe], indexes: [], source }),
      live,
      now: () => systemClock.now(),
      token: TOKEN,
      ...more,
    });
    const listener = opened.use(await serveHttp({ gateway: live.gateway(gateway, "http"), endpoints }));
    return new RecordedServer(engine, gateway, live, `http://127.0.0.1:${listener.port}`, opened.move());
  }

  async api(path: string, body?: object): Promise<Answered> {
    const response = await fetch(`${this.origin}/console/api${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${TOKEN}`, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: object(await response.json()) };
  }

  /** The items of a page. */
  async items(path: string): Promise<readonly JsonObject[]> {
    const { status, body } = await this.api(path);
    assert.equal(status, 200, JSON.stringify(body));
    return Array.isArray(body["items"]) ? body["items"].filter((item) => isJsonObject(item)) : [];
  }

  /** Server-sent events of the console, as they come. Ends with `signal`. */
  async *stream(path: string, signal: AbortSignal): AsyncGenerator<{ readonly event: string; readonly data: JsonObject }> {
    const response = await fetch(`${this.origin}/console/api${path}`, { headers: { authorization: `Bearer ${TOKEN}` }, signal });
    let rest = "";
    for await (const chunk of response.body ?? []) {
      rest += new TextDecoder().decode(chunk);
      for (let end = rest.indexOf("\n\n"); end !== -1; end = rest.indexOf("\n\n")) {
        const block = rest.slice(0, end);
        rest = rest.slice(end + 2);
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (data !== undefined) yield { event: /^event: (.*)$/m.exec(block)?.[1] ?? "", data: object(JSON.parse(data)) };
      }
    }
  }

  /** A message over HTTP. */
  async send(message: JsonObject, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return await fetch(`${this.origin}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  }

  nextId(): number {
    return (this.#id += 1);
  }

  /** A session of 2025-11-25. Returns its id. */
  async begin(name = "old-client"): Promise<string> {
    const response = await this.send({
      id: this.nextId(),
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name, version: "1.2" } },
    });
    await response.text();
    const id = response.headers.get("mcp-session-id") ?? "";
    await (await this.send({ method: "notifications/initialized" }, this.#headers(id))).text();
    return id;
  }

  #headers(session: string): Readonly<Record<string, string>> {
    return { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
  }

  async callIn(session: string, name: string, args: JsonObject = {}): Promise<string> {
    const message = { id: this.nextId(), method: "tools/call", params: { name, arguments: args } };
    return await (await this.send(message, this.#headers(session))).text();
  }

  /** A request of 2026-07-28. */
  async call(
    name: string,
    args: JsonObject = {},
    more: { readonly client?: string; readonly extensions?: JsonObject } = {},
  ): Promise<string> {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: more.client ?? "new-client", version: "3" },
      "io.modelcontextprotocol/clientCapabilities": { extensions: more.extensions ?? {} },
    };
    const message = { id: this.nextId(), method: "tools/call", params: { name, arguments: args, _meta: meta } };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name };
    return await (await this.send(message, headers)).text();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened.disposeAsync();
  }
}
