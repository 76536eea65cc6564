// Owns: queries to the server's admin API: where an event is, which kinds are served, pending invocations. Does not own: reading the
// events found (queries.ts).
//
// Events have no index by id, since every turn would pay for a search that is rare. Instead the server's own table of state is
// searched.
import { EngineError, type ActorId } from "../../core/contract/index.ts";
import { isBlockKey, ACTOR_KEY } from "./stored-actor.ts";
import { isObject } from "./handler-inputs.ts";
import { idStart } from "./event-lines.ts";
import type { Names } from "./names.ts";
import { seqRangeOf, type SeqRange } from "./archive.ts";

export interface EventLocation {
  readonly id: ActorId;
  /** The archived events among which it is. Undefined if it is with the actor. */
  readonly archived: SeqRange | undefined;
}

const MAX_ROWS = 1_000;
const TIMEOUT_MS = 60_000;

export class AdminApi {
  readonly #admin: string | undefined;
  readonly #names: Names;

  constructor(admin: string | undefined, names: Names) {
    this.#admin = admin;
    this.#names = names;
  }

  /** Where the id may occur. Throws `ENGINE_MISSING` if there is no admin API. */
  async locationsOf(eventId: string): Promise<readonly EventLocation[]> {
    // The id becomes part of a query.
    if (!/^[0-9a-f]{64}$/.test(eventId)) return [];
    const rows = await this.#query(
      `SELECT service_name, service_key, key FROM state WHERE (starts_with(service_name, '${this.#names.actors("")}') OR ` +
        `starts_with(service_name, '${this.#names.archives("")}')) AND value_utf8 LIKE '%${idStart(eventId)}%' LIMIT ${MAX_ROWS}`,
    );
    return rows.flatMap((row) => this.#location(row));
  }

  /** True if there is no admin API to ask. */
  async serves(service: string): Promise<boolean> {
    if (this.#admin === undefined) return true;
    const response = await this.#fetch(`/services/${service}`, {});
    return response.status !== 404;
  }

  /** Kinds that deployments serve. */
  async kinds(): Promise<readonly string[]> {
    const response = await this.#fetch("/services", { headers: { accept: "application/json" } });
    const answer: unknown = response.ok ? await response.json() : undefined;
    if (!isObject(answer) || !Array.isArray(answer["services"])) throw adminUnreachable(new Error(`It answered ${response.status}.`));
    return answer["services"].flatMap((service: unknown) => {
      const name = isObject(service) ? service["name"] : undefined;
      const kind = typeof name === "string" ? kindIn(this.#names.actors(""), name) : undefined;
      return kind === undefined ? [] : [kind];
    });
  }

  /** Id and `created_at` of each invocation of that handler that has not ended, for all kinds of actors. */
  pendingInvocations(handler: string): Promise<readonly unknown[]> {
    return this.#query(
      `SELECT id, created_at FROM sys_invocation WHERE starts_with(target_service_name, '${this.#names.actors("")}') AND ` +
        `target_handler_name = '${handler}' AND status <> 'completed'`,
    );
  }

  /** Id and `entry_json` with the input of each invocation. */
  invocationInputs(invocations: readonly string[]): Promise<readonly unknown[]> {
    const ids = invocations.filter((id) => /^inv_[A-Za-z0-9]+$/.test(id)).map((id) => `'${id}'`);
    return this.#query(`SELECT id, entry_json FROM sys_journal WHERE index = 0 AND id IN (${ids.join(", ")})`);
  }

  #location(row: unknown): readonly EventLocation[] {
    if (!isObject(row)) return [];
    const { service_name: service, service_key: segment, key } = row;
    if (typeof service !== "string" || typeof segment !== "string" || typeof key !== "string") return [];
    const actor = kindIn(this.#names.actors(""), service);
    if (actor !== undefined) return key === ACTOR_KEY || isBlockKey(key) ? [{ id: `${actor}/${segment}`, archived: undefined }] : [];
    const archive = kindIn(this.#names.archives(""), service);
    const archived = seqRangeOf(key);
    return archive === undefined || archived === undefined ? [] : [{ id: `${archive}/${segment}`, archived }];
  }

  async #query(query: string): Promise<readonly unknown[]> {
    if (this.#admin === undefined)
      throw new EngineError(
        "ENGINE_MISSING",
        "An event is found by its id alone through the server's admin API: give its address as well.",
      );
    const response = await this.#fetch("/query", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ query }),
    });
    const answer: unknown = response.ok ? await response.json() : undefined;
    if (isObject(answer) && Array.isArray(answer["rows"])) return answer["rows"];
    throw adminUnreachable(new Error(`It answered ${response.status}.`));
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    try {
      // Below a path, if the address has one: a proxy may be in front of the server.
      return await fetch(`${this.#admin?.replace(/\/+$/, "")}${path}`, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
    } catch (error) {
      throw adminUnreachable(error);
    }
  }
}

const kindIn = (before: string, service: string): string | undefined =>
  service.startsWith(before) && service.length > before.length ? service.slice(before.length) : undefined;

const adminUnreachable = (cause: unknown): EngineError =>
  new EngineError("STORE_IO", "The server's admin API did not answer: see that its address is right and that it runs.", { cause });
