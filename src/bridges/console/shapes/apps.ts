// Owns: the JSON of MCP Apps.

import type { JsonObject } from "../../../core/contract/index.ts";

/** A resource that is an MCP App. */
export interface AppResource {
  /** Of the offer: `resources/board` is named `board`. */
  readonly name: string;
  readonly uri: string;
  readonly title?: string;
}

/** `POST /apps`: the document of an MCP App. */
export interface AppInput {
  readonly html: string;
  /** `_meta.ui.csp` of its resource. Absent: it reaches nothing. */
  readonly csp?: JsonObject;
}

/** Where a frame opens the document: at `/console/app/{id}`, for a while. */
export interface AppDocument {
  readonly id: string;
  /** Its content security policy. */
  readonly policy: string;
  /** What was declared and is no domain, so it was left out of the policy. */
  readonly ignored: readonly string[];
}
