// The gateway of a transcript's setup: its ids come from the file, and events are numbered within a session.
import {
  type Entropy,
  type Gateway,
  type Json,
  type SessionStore,
  type StreamStore,
  systemEntropy,
} from "../../src/core/contract/index.ts";
import { createGateway, type GatewayOptions } from "../../src/mcp/gateway/index.ts";
import { memorySessionStore } from "../../src/core/store/index.ts";
import type { Setup } from "./fixture.ts";
import { fixtureSource } from "./fixture-source.ts";

const SESSION_ID_BYTES = 16;

/** Long enough for a seeded session to last until its own expiry. */
const SESSION_TTL_MS = 3_600_000;

function idsFrom(sequence: readonly string[]): Entropy {
  const left = [...sequence];
  return {
    hex: (bytes) => (bytes === SESSION_ID_BYTES ? left.shift() : undefined) ?? systemEntropy.hex(bytes),
    uuid: () => systemEntropy.uuid(),
  };
}

interface StoredEvent {
  readonly id: string;
  readonly stream: string;
  readonly message: Json;
}

function countedStreams(): StreamStore {
  const sessions = new Map<string, StoredEvent[]>();
  return {
    async append(session, stream, message) {
      const events = sessions.get(session) ?? [];
      sessions.set(session, events);
      const id = String(events.length + 1);
      events.push({ id, stream, message });
      return id;
    },
    async after(session, eventId) {
      const events = sessions.get(session) ?? [];
      const at = events.findIndex(({ id }) => id === eventId);
      const stream = events[at]?.stream;
      return stream === undefined ? undefined : { stream, messages: events.slice(at + 1).filter((event) => event.stream === stream) };
    },
    async delete(session) {
      sessions.delete(session);
    },
    async [Symbol.asyncDispose]() {},
  };
}

async function seeded(setup: Setup): Promise<SessionStore> {
  const sessions = memorySessionStore();
  for (const { id, expires_unix_ms, data } of setup.session_store.seed) {
    const now = Date.now();
    await sessions.put({
      id,
      protocol: data["protocolVersion"] ?? "2025-11-25",
      client: {},
      capabilities: {},
      subscriptions: [],
      createdAt: now,
      seenAt: Math.min(now, (expires_unix_ms ?? now + SESSION_TTL_MS) - SESSION_TTL_MS),
    });
  }
  return sessions;
}

const CACHEABLE_METHODS = {
  server_discover: "server/discover",
  tools_list: "tools/list",
  prompts_list: "prompts/list",
  resources_list: "resources/list",
  resource_templates_list: "resources/templates/list",
  resources_read: "resources/read",
} as const;

type CacheHints = NonNullable<GatewayOptions["cacheHints"]>;

function cacheHintsOf({ cacheable_results: given }: Setup["server"]): CacheHints {
  return Object.entries(CACHEABLE_METHODS).reduce<CacheHints>((hints, [name, method]) => {
    const hint = given[name];
    if (hint === undefined) return hints;
    const { ttl_ms: ttlMs, cache_scope: cacheScope } = hint;
    const cache = { ...(ttlMs === undefined ? undefined : { ttlMs }), ...(cacheScope === undefined ? undefined : { cacheScope }) };
    return { ...hints, [method]: cache };
  }, {});
}

export async function fixtureGateway(setup: Setup, profile: NonNullable<GatewayOptions["profile"]>): Promise<Gateway> {
  const { server, id_sequence } = setup;
  return createGateway({
    profile,
    source: fixtureSource(setup),
    info: { name: server.name, version: server.version },
    extensions: server.extension_capabilities,
    cacheHints: cacheHintsOf(server),
    serverInfoInResults: server.include_server_info_metadata ?? true,
    sessions: await seeded(setup),
    streams: countedStreams(),
    sessionTtlMs: SESSION_TTL_MS,
    entropy: idsFrom(id_sequence),
    rateLimit: false,
  });
}
