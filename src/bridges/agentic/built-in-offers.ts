import {
  type JsonObject,
  type Json,
  type Offer,
  type OfferRef,
  type CallOptions,
  type Clock,
  EngineError,
  type Reply,
} from "../../core/contract/index.ts";
import type { States } from "./states.ts";

const READ_ONLY: JsonObject = { readOnlyHint: true, openWorldHint: false };
const KEYS: JsonObject = { type: "array", items: { type: "string", maxLength: 256 }, maxItems: 256 };

/** What a server offers of its own beside what a service does. */
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
  // Of several services on one server each has its own.
  name: `state_page of ${root}`,
  action: "state_page",
  readOnly: true,
  // Two services of a library may be called alike, and whoever knows the state has the page.
  shared: true,
  definition: {
    title: "A page of a large state",
    description: "A piece of a state that is too long to read at once: `page` is one of the `pages` the state's own resource names.",
    uriTemplate: `${root}/page/{page}`,
  },
});

export const waitForChange = (maxMs: number, usualMs: number): Offer => ({
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
        timeout: { type: "integer", minimum: 0, maximum: maxMs, default: usualMs, description: "Milliseconds." },
        since: { type: "integer", description: "`since` of an earlier answer: what changed after it is told at once." },
      },
      additionalProperties: false,
    },
    annotations: READ_ONLY,
  },
});

/** The states that `keys` names; undefined: it names none, so all are meant. */
export function keysIn(keys: Json | undefined): ReadonlySet<OfferRef> | undefined {
  return Array.isArray(keys) ? new Set(keys.map((key): OfferRef => `resources/${String(key)}`)) : undefined;
}

const LONGEST_MS = 55_000;
const USUAL_MS = 30_000;

export interface ChangeWaitsOptions {
  readonly states: States;
  readonly clock: Clock;
  readonly maxMs: number | undefined;
  /** States that are longer are named only. */
  readonly pageLength: number;
  /** Where the caller names no states. */
  readonly wants: (ref: OfferRef) => boolean;
}

/** Calls that wait for a change. */
export class ChangeWaits {
  readonly offer: Offer;
  readonly #options: ChangeWaitsOptions;
  readonly #usualMs: number;
  readonly #waiting = new Set<() => void>();
  #tools: { readonly names: readonly string[]; readonly revision: number } = { names: [], revision: 0 };
  #closed = false;

  constructor(options: ChangeWaitsOptions) {
    const { maxMs = LONGEST_MS } = options;
    this.#options = options;
    this.#usualMs = Math.min(USUAL_MS, maxMs);
    this.offer = waitForChange(maxMs, this.#usualMs);
  }

  hearTools(tools: readonly Offer[], revision: number): void {
    this.#tools = { names: tools.map(({ name }) => name), revision };
  }

  wake(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Those that wait are answered as if their time were over. */
  close(): void {
    this.#closed = true;
    this.wake();
  }

  async run({ keys, timeout, since: earlier }: JsonObject, options: CallOptions): Promise<Reply> {
    const { clock, states, wants, pageLength } = this.#options;
    const wanted = keysIn(keys);
    const now = states.now();
    // Of a server that ran before, with a later clock: whatever is now may be new.
    const since = typeof earlier !== "number" ? now : earlier > now ? 0 : earlier;
    const until = clock.now() + (typeof timeout === "number" ? timeout : this.#usualMs);
    while (!this.#closed) {
      const changes = states.since(since, wanted === undefined ? wants : (ref) => wanted.has(ref), pageLength);
      const tools = wanted === undefined && this.#tools.revision > since ? { tools: this.#tools.names } : undefined;
      if (changes !== undefined || tools !== undefined) {
        // What changes while Blobs are read comes with the next call.
        const upTo = states.now();
        return { ok: { ...((await changes) ?? { changed: {} }), ...tools, timedOut: false, since: upTo } };
      }
      const left = until - clock.now();
      if (left <= 0) break;
      await this.#change(left, options);
    }
    return { ok: { changed: {}, timedOut: true, since: states.now() } };
  }

  /** Settles with the next change, after `ms`, or at the end. Throws `CANCELLED`. */
  async #change(ms: number, { signal }: CallOptions): Promise<void> {
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
