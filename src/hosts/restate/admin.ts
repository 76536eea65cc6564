/**
 * Where an event is, by its id alone. No index is written for that, since every turn would pay for what is asked by people who
 * look for a cause: the server's own table of state is searched, through its admin API.
 */
import { EngineError, type ActorId } from "../../core/contract/index.ts";
import { isBlockKey } from "./blocks.ts";
import { isObject } from "./is-object.ts";
import { ACTOR_KEY } from "./kept.ts";
import { idStart } from "./lines.ts";
import type { Names } from "./names.ts";
import { seqsIn, type Seqs } from "./slots.ts";

export interface Place {
  readonly id: ActorId;
  /** In its archive, among those. Undefined: with the actor. */
  readonly archived: Seqs | undefined;
}

const MOST_ROWS = 1_000;
const WITHIN_MS = 60_000;

export class Admin {
  readonly #admin: string | undefined;
  readonly #names: Names;

  constructor(admin: string | undefined, names: Names) {
    this.#admin = admin;
    this.#names = names;
  }

  /** Where the id may occur. Throws `ENGINE_MISSING` where there is no admin API to ask. */
  async holding(eventId: string): Promise<readonly Place[]> {
    // It becomes part of a query.
    if (!/^[0-9a-f]{64}$/.test(eventId)) return [];
    const rows = await this.#query(
      `SELECT service_name, service_key, key FROM state WHERE (starts_with(service_name, '${this.#names.actors("")}') OR ` +
        `starts_with(service_name, '${this.#names.archives("")}')) AND value_utf8 LIKE '%${idStart(eventId)}%' LIMIT ${MOST_ROWS}`,
    );
    return rows.flatMap((row) => this.#place(row));
  }

  /** True where there is no admin API to ask. */
  async serves(service: string): Promise<boolean> {
    if (this.#admin === undefined) return true;
    const response = await this.#fetch(`/services/${service}`, {});
    return response.status !== 404;
  }

  /** Kinds that deployments serve. */
  async kinds(): Promise<readonly string[]> {
    const response = await this.#fetch("/services", { headers: { accept: "application/json" } });
    const answer: unknown = response.ok ? await response.json() : undefined;
    if (!isObject(answer) || !Array.isArray(answer["services"])) throw unanswered(new Error(`It answered ${response.status}.`));
    return answer["services"].flatMap((service: unknown) => {
      const name = isObject(service) ? service["name"] : undefined;
      const kind = typeof name === "string" ? kindAfter(this.#names.actors(""), name) : undefined;
      return kind === undefined ? [] : [kind];
    });
  }

  /** Id and `created_at` of invocations of that handler of actors that have not ended. */
  pending(handler: string): Promise<readonly unknown[]> {
    return this.#query(
      `SELECT id, created_at FROM sys_invocation WHERE starts_with(target_service_name, '${this.#names.actors("")}') AND ` +
        `target_handler_name = '${handler}' AND status <> 'completed'`,
    );
  }

  /** Id and `entry_json` of what invocations were called with. */
  inputs(invocations: readonly string[]): Promise<readonly unknown[]> {
    const ids = invocations.filter((id) => /^inv_[A-Za-z0-9]+$/.test(id)).map((id) => `'${id}'`);
    return this.#query(`SELECT id, entry_json FROM sys_journal WHERE index = 0 AND id IN (${ids.join(", ")})`);
  }

  #place(row: unknown): readonly Place[] {
    if (!isObject(row)) return [];
    const { service_name: service, service_key: segment, key } = row;
    if (typeof service !== "string" || typeof segment !== "string" || typeof key !== "string") return [];
    const actor = kindAfter(this.#names.actors(""), service);
    if (actor !== undefined) return key === ACTOR_KEY || isBlockKey(key) ? [{ id: `${actor}/${segment}`, archived: undefined }] : [];
    const archive = kindAfter(this.#names.archives(""), service);
    const archived = seqsIn(key);
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
    throw unanswered(new Error(`It answered ${response.status}.`));
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(new URL(path, this.#admin), { ...init, signal: AbortSignal.timeout(WITHIN_MS) });
    } catch (error) {
      throw unanswered(error);
    }
  }
}

const kindAfter = (before: string, service: string): string | undefined =>
  service.startsWith(before) && service.length > before.length ? service.slice(before.length) : undefined;

const unanswered = (cause: unknown): EngineError =>
  new EngineError("STORE_IO", "The server's admin API did not answer: see that its address is right and that it runs.", { cause });
