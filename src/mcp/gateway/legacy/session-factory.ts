// Owns: which session a request belongs to, and beginning a new one. Does not own: the sessions in memory and in the store (live-sessions.ts).
import type { JsonObject, Caller, Exchange, Json, SessionRow } from "../../../core/contract/index.ts";
import { sha256Hex } from "../../../core/platform/index.ts";
import type { Core } from "../core.ts";
import { Fault, type Reason } from "../errors.ts";
import { objectIn, EMPTY, type Request, shortText } from "../json-rpc.ts";
import { negotiate } from "../revision.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./live-sessions.ts";

export const SESSION = "mcp-session-id";
const ADOPTED = "adopted|";
const ADOPTABLE = /^[\x21-\x7e]{1,128}$/;

export const sessionRequired = (reason?: Reason): Fault =>
  new Fault("SESSION_REQUIRED", "The Mcp-Session-Id header is missing; send initialize first.", reason && { reason });
export const sessionUnknown = (): Fault => new Fault("SESSION_UNKNOWN", "Session not found; send initialize again, without a session id.");

/** The name that the client has for a session: an adopted one has another id in the store. */
export function sessionCalled({ row }: Session, exchange: Exchange): string {
  return row.id.startsWith(ADOPTED) ? (exchange.header(SESSION) ?? row.id) : row.id;
}

// A client chooses the id to be adopted, and another may choose the same. Its owner is therefore part of the stored id: no client can reach
// or overwrite the session of another, in whichever order they come.
function adoptedId(id: string, { caller, posture }: Exchange): string {
  return ADOPTED + sha256Hex(JSON.stringify([caller.principal ?? null, posture ?? null, id]));
}

export class SessionFactory {
  readonly #core: Core;
  readonly #sessions: Sessions;
  readonly #beginning = new Map<string, Promise<Session>>();

  constructor(core: Core, sessions: Sessions) {
    this.#core = core;
    this.#sessions = sessions;
  }

  /** The caller's session that its client calls so. */
  find(id: string, exchange: Exchange): Session | undefined | Promise<Session | undefined> {
    const { caller, posture } = exchange;
    if (this.#core.settings.unknownSession !== "adopt") return this.#sessions.find(id, caller, posture);
    const adopted = adoptedId(id, exchange);
    if (this.#sessions.live(adopted) !== undefined) return this.#sessions.find(adopted, caller, posture);
    return this.#findEither(id, adopted, exchange);
  }

  async #findEither(id: string, adopted: string, { caller, posture }: Exchange): Promise<Session | undefined> {
    return (await this.#sessions.find(id, caller, posture)) ?? this.#sessions.find(adopted, caller, posture);
  }

  /** The session that initialize begins. If it names one, and may, it begins under that name again. */
  async initialize(request: Request, exchange: Exchange): Promise<Session> {
    const row = newSession(this.#core, request, exchange.caller, exchange.posture);
    const { unknownSession } = this.#core.settings;
    if (unknownSession === "reject") return this.#sessions.add(row, exchange.caller);
    const id = exchange.header(SESSION);
    const own = id === undefined ? undefined : await this.find(id, exchange);
    if (own !== undefined) {
      await this.#sessions.end(own);
      return this.#sessions.add({ ...row, id: own.row.id }, exchange.caller);
    }
    const adopts = id !== undefined && unknownSession === "adopt" && ADOPTABLE.test(id);
    return this.#sessions.add(adopts ? { ...row, id: adoptedId(id, exchange) } : row, exchange.caller);
  }

  /** For any other request: the session it names, or one that begins with it. Rejects if it may not begin one. */
  async findOrBegin(how: "reissue" | "adopt", exchange: Exchange, version: string | undefined): Promise<Session> {
    const id = exchange.header(SESSION);
    const own = id === undefined ? undefined : await this.find(id, exchange);
    if (own !== undefined) return own;
    if (how === "reissue") return this.#begin(exchange, version, undefined);
    if (id === undefined) throw sessionRequired();
    if (!ADOPTABLE.test(id)) throw sessionUnknown();
    // The requests that a client sends at once begin one session.
    const name = adoptedId(id, exchange);
    let beginning = this.#beginning.get(name);
    if (beginning === undefined) {
      beginning = this.#begin(exchange, version, name).finally(() => this.#beginning.delete(name));
      this.#beginning.set(name, beginning);
    }
    return beginning;
  }

  async #begin(exchange: Exchange, version: string | undefined, id: string | undefined): Promise<Session> {
    this.#core.limit(exchange.caller);
    const row = uninitialized(this.#core, exchange.caller, exchange.posture, version);
    const session = await this.#sessions.add(id === undefined ? row : { ...row, id }, exchange.caller);
    session.ready = true;
    return session;
  }
}

// What is stored of a client, each with at most so many characters. Nothing else is: there may be very many sessions.
const NAMES = ["name", "version", "title"] as const;
const MAX_NAME = 256;
/** The capabilities that `canOf` reads. */
const CAPABILITIES = { elicitation: ["form", "url"], sampling: ["tools"], roots: [] } as const;
// Very many sessions share what is empty.
const NONE: readonly string[] = Object.freeze([]);

/** The row of a session that initialize begins. Throws `PARAMS`. */
export function newSession(core: Core, request: Request, caller: Caller, posture: "meta" | undefined): SessionRow {
  const { protocolVersion } = request.params;
  const { dialect } = core.settings;
  const readable = typeof protocolVersion === "string" && protocolVersion.length <= 64;
  if (!readable && !dialect.anyInitialize)
    throw new Fault("PARAMS", `initialize needs a protocolVersion: one of ${dialect.revisions.join(", ")}.`);
  return {
    ...uninitialized(core, caller, posture, readable ? protocolVersion : undefined),
    client: clientIn(request.params),
    capabilities: capabilitiesIn(request.params),
  };
}

/** The row of a session whose client has named nothing but, at most, its revision. */
function uninitialized({ settings }: Core, caller: Caller, posture: "meta" | undefined, wanted: string | undefined): SessionRow {
  const now = settings.clock.now();
  return {
    id: settings.entropy.hex(16),
    ...(caller.principal === undefined ? undefined : { principal: caller.principal }),
    protocol: negotiate(settings.dialect.revisions, wanted),
    client: EMPTY,
    capabilities: EMPTY,
    subscriptions: NONE,
    ...(posture === undefined ? undefined : { posture }),
    createdAt: now,
    seenAt: now,
  };
}

function clientIn(params: JsonObject): JsonObject {
  const info = objectIn(params, "clientInfo");
  return objectOf(NAMES.flatMap((name) => entry(name, shortText(info?.[name], MAX_NAME))));
}

function capabilitiesIn(params: JsonObject): JsonObject {
  const declared = objectIn(params, "capabilities");
  if (declared === undefined) return EMPTY;
  return objectOf(
    Object.entries(CAPABILITIES).flatMap(([name, parts]) => {
      const capability = objectIn(declared, name);
      return capability === undefined
        ? []
        : entry(name, objectOf(parts.flatMap((part) => entry(part, objectIn(capability, part) && EMPTY))));
    }),
  );
}

const entry = (name: string, value: Json | undefined): readonly (readonly [string, Json])[] => (value === undefined ? [] : [[name, value]]);

const objectOf = (entries: readonly (readonly [string, Json])[]): JsonObject =>
  entries.length === 0 ? EMPTY : Object.fromEntries(entries);
