// A console over HTTP, of an engine that runs, for the tests of its routes.
import assert from "node:assert/strict";
import {
  type Behaviour,
  type Index,
  isJsonObject,
  type Json,
  type JsonObject,
  type Source,
  type Store,
  systemClock,
} from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { createGateway } from "../../mcp/gateway/index.ts";
import { cast } from "../../mcp/source/index.ts";
import { serveHttp } from "../../mcp/transport/index.ts";
import { engineOperations, engineReader } from "../operate/index.ts";
import { consoleFor } from "./console.ts";
import type { ConsoleData } from "./data.ts";

const TOKEN = "t".repeat(43);

export interface Answered {
  readonly status: number;
  readonly body: JsonObject;
}

export interface ServerSent {
  readonly event: string;
  readonly data: JsonObject;
}

/** What a test requests of a console. */
export class ConsoleClient {
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  async get(path: string, query: Readonly<Record<string, string>> = {}): Promise<Answered> {
    const text = new URLSearchParams(query).toString();
    return await answered(await this.#fetch(text === "" ? path : `${path}?${text}`));
  }

  /** The body of an answer that must be 200. */
  async read(path: string, query: Readonly<Record<string, string>> = {}): Promise<JsonObject> {
    const { status, body } = await this.get(path, query);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  async post(path: string, body: object = {}, signal?: AbortSignal): Promise<Answered> {
    return await answered(await this.#fetch(path, body, signal));
  }

  /** The events of an operation that streams. */
  async stream(path: string, body: object = {}): Promise<readonly ServerSent[]> {
    const response = await this.#fetch(path, body);
    return (await response.text())
      .split("\n\n")
      .filter((block) => block.includes("data:"))
      .map((block) => ({
        event: /^event: (.*)$/m.exec(block)?.[1] ?? "",
        data: object(JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "")),
      }));
  }

  #fetch(path: string, body?: object, signal?: AbortSignal): Promise<Response> {
    return fetch(`${this.#base}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${TOKEN}`, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
  }
}

const answered = async (response: Response): Promise<Answered> => ({ status: response.status, body: object(await response.json()) });

const object = (value: unknown): JsonObject => (isJsonObject(value) ? value : assert.fail(`no object: ${JSON.stringify(value)}`));

/** A text of an answer. */
export function textOf(value: Json | undefined): string {
  assert.ok(typeof value === "string");
  return value;
}

/** The items of a page. */
export const itemsIn = ({ items }: JsonObject): readonly JsonObject[] =>
  Array.isArray(items) ? items.filter((one: Json) => isJsonObject(one)) : [];

export interface ServedOptions {
  readonly kinds: readonly Behaviour[];
  readonly indexes?: readonly Index[];
  readonly store?: Store;
  readonly isOffline?: boolean;
  readonly more?: Partial<ConsoleData>;
}

/** A running engine behind HTTP, with its console. */
export async function servedConsole({ kinds, indexes = [], store, isOffline = false, more = {} }: ServedOptions) {
  await using opened = new AsyncDisposableStack();
  const engine = opened.use(await LocalEngine.start({ kinds, indexes, ...(store !== undefined && { store }) }));
  const source: Source = cast({ engine, kinds, indexes });
  const gateway = opened.use(createGateway({ source, info: { name: "test", version: "1" } }));
  const data: ConsoleData = {
    about: {
      name: "test",
      version: "1",
      engine: store === undefined ? "memory" : "sqlite",
      development: true,
      docs: "https://example.com",
    },
    reader: engineReader(() => engine, store),
    ...(!isOffline && {
      running: () => ({ engine, kinds, indexes, source }),
      operate: engineOperations({ engine, kinds, ...(store !== undefined && { store }) }),
    }),
    now: () => systemClock.now(),
    ...more,
  };
  const listener = opened.use(await serveHttp({ gateway, endpoints: consoleFor({ ...data, token: TOKEN }) }));
  const own = opened.move();
  return {
    engine,
    client: new ConsoleClient(`http://127.0.0.1:${listener.port}/console/api`),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}
