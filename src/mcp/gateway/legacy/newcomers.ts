import { sha256Hex } from "../../../core/platform/index.ts";
import type { Exchange, SessionRow } from "../../../core/contract/index.ts";
import type { Core } from "../core.ts";
import { Fault, type Reason } from "../errors.ts";
import { uninitialized } from "./initialize.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";

export const SESSION = "mcp-session-id";
const ADOPTED = "adopted|";
const ADOPTABLE = /^[\x21-\x7e]{1,128}$/;

export const sessionRequired = (reason?: Reason): Fault =>
  new Fault("SESSION_REQUIRED", "The Mcp-Session-Id header is missing; send initialize first.", reason && { reason });
export const sessionUnknown = (): Fault => new Fault("SESSION_UNKNOWN", "Session not found; send initialize again, without a session id.");

/** What its client calls a session: an adopted one has another name inside. */
export function sessionName({ row }: Session, exchange: Exchange): string {
  return row.id.startsWith(ADOPTED) ? (exchange.header(SESSION) ?? row.id) : row.id;
}

/*
 * An adopted id is a name its client chose, and another may choose the same: whose it is, is part of what the session is
 * called inside. So nobody comes by another's session, nor overwrites it, in whatever order two of them arrive.
 */
function adoptedId(id: string, { caller, posture }: Exchange): string {
  return ADOPTED + sha256Hex(JSON.stringify([caller.principal ?? null, posture ?? null, id]));
}

/** Sessions that begin, and those that are looked for first under either name. */
export class Newcomers {
  readonly #core: Core;
  readonly #sessions: Sessions;
  readonly #arriving = new Map<string, Promise<Session>>();

  constructor(core: Core, sessions: Sessions) {
    this.#core = core;
    this.#sessions = sessions;
  }

  /** The caller's session that its client calls so. */
  known(id: string, exchange: Exchange): Session | undefined | Promise<Session | undefined> {
    const { caller, posture } = exchange;
    if (this.#core.settings.unknownSession !== "adopt") return this.#sessions.find(id, caller, posture);
    const adopted = adoptedId(id, exchange);
    if (this.#sessions.live(adopted) !== undefined) return this.#sessions.find(adopted, caller, posture);
    return this.#eitherName(id, adopted, exchange);
  }

  /** Of initialize. A client that comes with a name of its session keeps it, where one may come with one. */
  async begin(row: SessionRow, exchange: Exchange): Promise<Session> {
    if (this.#core.settings.unknownSession === "reject") return this.#sessions.add(row, exchange.caller);
    const id = exchange.header(SESSION);
    const own = id === undefined ? undefined : await this.known(id, exchange);
    if (own !== undefined) {
      await this.#sessions.end(own);
      return this.#sessions.add({ ...row, id: own.row.id }, exchange.caller);
    }
    const adopts = id !== undefined && this.#core.settings.unknownSession === "adopt" && ADOPTABLE.test(id);
    return this.#sessions.add(adopts ? { ...row, id: adoptedId(id, exchange) } : row, exchange.caller);
  }

  /** Of any other request: the session it names, or one that begins with it. Rejects where none may. */
  async arrived(how: "reissue" | "adopt", exchange: Exchange, version: string | undefined): Promise<Session> {
    const id = exchange.header(SESSION);
    const own = id === undefined ? undefined : await this.known(id, exchange);
    if (own !== undefined) return own;
    if (how === "reissue") return this.#add(exchange, version, undefined);
    if (id === undefined) throw sessionRequired();
    if (!ADOPTABLE.test(id)) throw sessionUnknown();
    // Of what a client sends at once, all is of one session.
    const name = adoptedId(id, exchange);
    let arriving = this.#arriving.get(name);
    if (arriving === undefined) {
      arriving = this.#add(exchange, version, name).finally(() => this.#arriving.delete(name));
      this.#arriving.set(name, arriving);
    }
    return arriving;
  }

  async #eitherName(id: string, adopted: string, { caller, posture }: Exchange): Promise<Session | undefined> {
    return (await this.#sessions.find(id, caller, posture)) ?? this.#sessions.find(adopted, caller, posture);
  }

  async #add(exchange: Exchange, version: string | undefined, name: string | undefined): Promise<Session> {
    this.#core.limit(exchange.caller);
    const row = uninitialized(this.#core, exchange.caller, exchange.posture, version);
    const session = await this.#sessions.add(name === undefined ? row : { ...row, id: name }, exchange.caller);
    session.ready = true;
    return session;
  }
}
