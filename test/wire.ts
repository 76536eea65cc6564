// Raw JSON-RPC clients over HTTP and sockets, which send exactly what a test specifies.
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { MODERN } from "./clients.ts";
import { requestIn, validateMessage } from "./message-validation.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** The value at that path, or undefined. */
export const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((inner, step) => {
    if (Array.isArray(inner) && typeof step === "number") return inner[step];
    return isJsonObject(inner) ? inner[String(step)] : undefined;
  }, value);

/** The `_meta` of every request of 2026-07-28. */
export const envelope = (capabilities: JsonObject = {}): JsonObject => ({
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientInfo": { name: "wire", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": capabilities,
});

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON body, or the messages of the event stream. */
  readonly messages: readonly unknown[];
  /** The last message: the reply. */
  readonly reply: unknown;
}

const messagesOf = (type: string, text: string, request: ReturnType<typeof requestIn>): readonly unknown[] => {
  if (text === "") return [];
  if (!type.startsWith("text/event-stream")) return type.startsWith("application/json") ? [validateMessage(text, request)] : [text];
  return text
    .split(/\n\n/)
    .flatMap((event) =>
      event
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).trim()),
    )
    .filter((data) => data !== "")
    .map((data) => validateMessage(data, request));
};

/** Sends one HTTP request with that body (strings unchanged) and waits for the complete answer. */
export const send = async (
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  verb = "POST",
): Promise<HttpAnswer> => {
  const response = await fetch(url, {
    method: verb,
    headers: {
      accept: "application/json, text/event-stream",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined
      ? {}
      : { body: typeof body === "string" || body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body) }),
  });
  const request = requestIn(body, headers["mcp-protocol-version"]);
  const messages = messagesOf(response.headers.get("content-type") ?? "", await response.text(), request);
  return { status: response.status, headers: response.headers, messages, reply: messages.at(-1) };
};

/** The headers of a request of 2026-07-28. */
export const modernHeaders = (method: string, name?: string): Record<string, string> => ({
  "mcp-protocol-version": MODERN,
  "mcp-method": method,
  ...(name === undefined ? {} : { "mcp-name": name }),
});

/** One request of 2026-07-28 over HTTP. */
export const modern = (
  url: string,
  method: string,
  params: JsonObject = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpAnswer> => {
  const named = params["name"] ?? params["uri"];
  return send(
    url,
    {
      jsonrpc: "2.0",
      id: 1,
      method,
      params: { ...params, _meta: { ...envelope(), ...(isJsonObject(params["_meta"]) ? params["_meta"] : {}) } },
    },
    { ...modernHeaders(method, typeof named === "string" ? named : undefined), ...headers },
  );
};

/** A legacy session over HTTP. */
export interface HttpSession {
  readonly id: string;
  /** Headers of every request of the session. */
  readonly headers: Readonly<Record<string, string>>;
  request(method: string, params?: JsonObject, headers?: Readonly<Record<string, string>>): Promise<HttpAnswer>;
}

/** An existing session at that address. */
export const resumed = (url: string, id: string, headers: Readonly<Record<string, string>> = {}, version = "2025-11-25"): HttpSession => {
  const all = { ...headers, "mcp-session-id": id, "mcp-protocol-version": version };
  let next = 1;
  return {
    id,
    headers: all,
    request: (method, params = {}, more = {}) => send(url, { jsonrpc: "2.0", id: (next += 1), method, params }, { ...all, ...more }),
  };
};

/** Sends `initialize` and `notifications/initialized`. */
export const opened = async (
  url: string,
  headers: Readonly<Record<string, string>> = {},
  version = "2025-11-25",
  capabilities: JsonObject = {},
): Promise<HttpSession> => {
  const params = { protocolVersion: version, capabilities, clientInfo: { name: "wire", version: "1" } };
  const answer = await send(url, { jsonrpc: "2.0", id: 0, method: "initialize", params }, headers);
  const id = answer.headers.get("mcp-session-id");
  if (id === null) throw new Error(`no session: ${answer.status} ${JSON.stringify(answer.reply)}`);
  const session = resumed(url, id, headers, version);
  await send(url, { jsonrpc: "2.0", method: "notifications/initialized" }, session.headers);
  return session;
};

/** A client on a socket that sends and receives lines. */
export interface LineClient extends AsyncDisposable {
  readonly socket: Socket;
  /** All received messages, in order. */
  readonly frames: readonly unknown[];
  /** Sends strings and bytes unchanged, anything else as JSON, and adds a line end. */
  say(message: unknown): void;
  request(method: string, params?: JsonObject): Promise<unknown>;
  /** Resolves with the first matching frame, including earlier ones. */
  until(fits: (frame: unknown) => boolean): Promise<unknown>;
}

/** `tcp://…` or `unix:…`. */
export const lineClient = async (url: string): Promise<LineClient> => {
  const socket = url.startsWith("unix:") ? connect(url.slice(5)) : connect(Number(new URL(url).port), new URL(url).hostname);
  await new Promise<void>((done, failed) => socket.once("connect", done).once("error", failed));
  const frames: unknown[] = [];
  const waiting = new Set<() => void>();
  let over = false;
  socket.on("error", () => undefined);
  createInterface({ input: socket }).on("line", (line) => {
    frames.push(validateMessage(line));
    for (const run of Array.from(waiting)) run();
  });
  socket.on("close", () => {
    over = true;
    for (const run of Array.from(waiting)) run();
  });
  let next = 0;
  const say = (message: unknown): void => {
    const text = typeof message === "string" || message instanceof Uint8Array ? message : JSON.stringify(message);
    // In one write: with Nagle's algorithm the second of two small ones would be delayed.
    socket.write(Buffer.concat([Buffer.from(text), Buffer.from("\n")]));
  };
  const until = (fits: (frame: unknown) => boolean): Promise<unknown> =>
    new Promise((done, failed) => {
      const run = (): void => {
        const found = frames.find(fits);
        if (found === undefined && !over) return;
        waiting.delete(run);
        if (found === undefined) failed(new Error("the server closed the connection"));
        else done(found);
      };
      waiting.add(run);
      run();
    });
  return {
    socket,
    frames,
    say,
    until,
    request(method, params = {}) {
      const id = `wire-${(next += 1)}`;
      say({ jsonrpc: "2.0", id, method, params });
      return until((frame) => isJsonObject(frame) && frame["id"] === id && !("method" in frame));
    },
    async [Symbol.asyncDispose]() {
      if (socket.destroyed) return;
      const closed = new Promise<void>((done) => void socket.once("close", () => done()));
      socket.destroy();
      await closed;
    },
  };
};

/** An event stream of a session, with its messages so far. */
export interface Events extends AsyncDisposable {
  readonly status: number;
  readonly messages: readonly unknown[];
  /** Ids of the events so far. */
  readonly ids: readonly string[];
  /** Resolves with the first matching message, including earlier ones. */
  until(fits: (message: unknown) => boolean): Promise<unknown>;
}

/** Sends GET to the endpoint; resolves once the response headers have arrived. */
export const events = async (url: string, headers: Readonly<Record<string, string>>): Promise<Events> => {
  const leave = new AbortController();
  const response = await fetch(url, { headers: { ...headers, accept: "text/event-stream" }, signal: leave.signal });
  const messages: unknown[] = [];
  const ids: string[] = [];
  const waiting = new Set<() => void>();
  const take = (event: string): void => {
    for (const line of event.split("\n")) {
      if (line.startsWith("id:")) ids.push(line.slice(3).trim());
      if (line.startsWith("data:") && line.slice(5).trim() !== "") messages.push(validateMessage(line.slice(5)));
    }
    for (const run of Array.from(waiting)) run();
  };
  const reading = (async () => {
    if (response.body === null) return;
    let text = "";
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        take(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
  })().catch(() => undefined);
  return {
    status: response.status,
    messages,
    ids,
    until: (fits) =>
      new Promise((done) => {
        const run = (): void => {
          const found = messages.find(fits);
          if (found === undefined) return;
          waiting.delete(run);
          done(found);
        };
        waiting.add(run);
        run();
      }),
    async [Symbol.asyncDispose]() {
      leave.abort();
      await reading;
    },
  };
};
