import type { JsonObject, Json, Offer, OfferRef } from "../../core/contract/index.ts";

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
