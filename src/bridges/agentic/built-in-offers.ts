// Owns: the tools and resources that a source adds to a service's own: `get_state`, `list_links`, pages, `wait_for_change`, and the
// calls that wait. Does not own: their other handlers (service-source.ts).
import {
  type CallOptions,
  type Clock,
  EngineError,
  type Json,
  type JsonObject,
  type Offer,
  type OfferRef,
  type Reply,
} from "../../core/contract/index.ts";
import type { States } from "./states.ts";

const READ_ONLY: JsonObject = { readOnlyHint: true, openWorldHint: false };
const KEYS: JsonObject = { type: "array", items: { type: "string", maxLength: 256 }, maxItems: 256 };

export const GET_STATE: Offer = {
  name: "get_state",
  action: "get_state",
  readOnly: true,
  definition: {
    title: "State now",
    description: "The states as they are now, by name: all, or those named in `keys`.",
    inputSchema: { type: "object", properties: { keys: KEYS }, additionalProperties: false },
    annotations: READ_ONLY,
  },
};

export const LIST_LINKS: Offer = {
  name: "list_links",
  action: "list_links",
  readOnly: true,
  definition: {
    title: "Links",
    description: "Other services this one is linked to, by key, and where they are found.",
    inputSchema: { type: "object", properties: {}, additionalProperties: false },
    annotations: READ_ONLY,
  },
};

export const linksResource = (root: string): Offer => ({
  name: "list_links",
  action: "list_links",
  readOnly: true,
  definition: { title: "Links", description: "Other services this one is linked to.", uri: `${root}/links`, mimeType: "application/json" },
});

export const pageTemplate = (root: string): Offer => ({
  // Each of several services on one server has its own template.
  name: `state_page of ${root}`,
  action: "state_page",
  readOnly: true,
  // Two services may have the same name. The one that has the state returns the page.
  shared: true,
  definition: {
    title: "A page of a large state",
    description: "A piece of a state that is too long to read at once: `page` is one of the `pages` the state's own resource names.",
    uriTemplate: `${root}/page/{page}`,
  },
});

const waitForChange = (maxMs: number, defaultMs: number): Offer => ({
  name: "wait_for_change",
  action: "wait_for_change",
  readOnly: true,
  definition: {
    title: "Wait for a change",
    description:
      "Waits until a state, or what can be done, changes, and tells what did. Give `since` of the last answer to miss nothing between two calls.",
    inputSchema: {
      type: "object",
      properties: {
        keys: { ...KEYS, description: "Only these states. Without: any state, and the tools." },
        timeout: { type: "integer", minimum: 0, maximum: maxMs, default: defaultMs, description: "Milliseconds." },
        since: { type: "integer", description: "`since` of an earlier answer: what changed after it is told at once." },
      },
      additionalProperties: false,
    },
    annotations: READ_ONLY,
  },
});

/** The states that `keys` names. Undefined: there are no keys, which means all states. */
export function stateRefsIn(keys: Json | undefined): ReadonlySet<OfferRef> | undefined {
  return Array.isArray(keys) ? new Set(keys.map((key): OfferRef => `resources/${String(key)}`)) : undefined;
}

const MAX_WAIT_MS = 55_000;
const DEFAULT_WAIT_MS = 30_000;

interface ChangeWaitsOptions {
  readonly states: States;
  readonly clock: Clock;
  readonly maxMs: number | undefined;
  /** Of longer states only the names are returned. */
  readonly pageLength: number;
  /** Which states count if the caller names none. */
  readonly wants: (ref: OfferRef) => boolean;
}

/** The calls of `wait_for_change`. */
export class ChangeWaits {
  readonly offer: Offer;
  readonly #options: ChangeWaitsOptions;
  readonly #defaultMs: number;
  readonly #waiting = new Set<() => void>();
  #tools: { readonly names: readonly string[]; readonly revision: number } = { names: [], revision: 0 };
  #closed = false;

  constructor(options: ChangeWaitsOptions) {
    const { maxMs = MAX_WAIT_MS } = options;
    this.#options = options;
    this.#defaultMs = Math.min(DEFAULT_WAIT_MS, maxMs);
    this.offer = waitForChange(maxMs, this.#defaultMs);
  }

  setTools(tools: readonly Offer[], revision: number): void {
    this.#tools = { names: tools.map(({ name }) => name), revision };
  }

  wake(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Ends all waits as if their time were over. */
  close(): void {
    this.#closed = true;
    this.wake();
  }

  async run({ keys, timeout, since: earlier }: JsonObject, options: CallOptions): Promise<Reply> {
    const { clock, states, wants, pageLength } = this.#options;
    const wanted = stateRefsIn(keys);
    const now = states.now();
    // A number from a previous run of the server, whose clock was ahead: every state may be new.
    const since = typeof earlier !== "number" ? now : earlier > now ? 0 : earlier;
    const until = clock.now() + (typeof timeout === "number" ? timeout : this.#defaultMs);
    while (!this.#closed) {
      const changes = states.since(since, wanted === undefined ? wants : (ref) => wanted.has(ref), pageLength);
      const tools = wanted === undefined && this.#tools.revision > since ? { tools: this.#tools.names } : undefined;
      if (changes !== undefined || tools !== undefined) {
        // Before Blobs are read: what changes meanwhile is reported by the next call.
        const upTo = states.now();
        return { ok: { ...((await changes) ?? { changed: {} }), ...tools, timedOut: false, since: upTo } };
      }
      const left = until - clock.now();
      if (left <= 0) break;
      await this.#nextChange(left, options);
    }
    return { ok: { changed: {}, timedOut: true, since: states.now() } };
  }

  /** Settles at the next change, after `ms`, or when this is closed. Throws `CANCELLED`. */
  async #nextChange(ms: number, { signal }: CallOptions): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const undo = this.#options.clock.after(ms, resolve);
    this.#waiting.add(resolve);
    signal?.addEventListener("abort", resolve, { once: true });
    await promise;
    undo();
    this.#waiting.delete(resolve);
    signal?.removeEventListener("abort", resolve);
    if (signal?.aborted === true) throw new EngineError("CANCELLED", "The wait was cancelled; nothing was changed by it.");
  }
}
