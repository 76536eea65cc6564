// Owns: what a viewer may do and see, as types. Does not own: deciding it (core/actor, mcp/source).

import type { ActorId } from "./actor.ts";
import type { TroupeError } from "./errors.ts";
import type { Json } from "./json.ts";

/** The three lists of MCP. Names are unique within one, not across them. */
export type ListName = "tools" | "resources" | "prompts";

/** One offer of a surface: `tools/pick_up`, `prompts/start`, `resources/state`. */
export type OfferRef = `${ListName}/${string}`;

/** Whether a call may go on after it was answered: "required": only to clients that know tasks. */
export type TaskSupport = "optional" | "required";

/** Definitions: immutable, compared by identity; compiled validators and serialised lists hang on them. */
export interface Catalogue {
  readonly tools: readonly Offer[];
  readonly resources: readonly Offer[];
  readonly prompts: readonly Offer[];
  /** Prefix → kinds of actor whose surface may join there. Absent while `links` appear: not known ahead, so never served "gated". */
  readonly links?: Readonly<Record<string, readonly string[]>>;
  /** What should be here and is not, and why: a source of several that cannot be asked now; `BAD_NAME`: an offer no client could use. */
  readonly missing?: readonly TroupeError[];
}

/**
 * `definition` is the entry of the MCP list in its newest shape, without `name`
 * for tools and prompts; a resource's has `uri` (fixed) or `uriTemplate` (RFC 6570
 * level 1, and `{+path}`). The gateway takes away what an older revision does not know.
 */
export interface Offer {
  readonly name: string;
  readonly definition: { readonly [key: string]: Json };
  /** What the actor receives or views. */
  readonly action: string;
  readonly readOnly: boolean;
  /**
   * A tool whose source checks the arguments and says what is wrong with them. `"misfits"`: those that do not fit `inputSchema`, which
   * shows what the source takes and not all of it. Absent: the gateway checks, by `inputSchema`.
   */
  readonly checksArguments?: boolean | "misfits";
  /**
   * A template of any level, whose source is given what each expression stands for as the URI has it, still encoded, by the
   * expression's own text (`+path`, `?q,page`). Absent: `{id}` and `{+path}`, by their names, decoded.
   */
  readonly rawVariables?: boolean;
  /**
   * Several sources may offer it under this very name and URI: merged it is offered once, and asked of one after the other, since
   * each answers `UNKNOWN` to what is not its own. Absent: two of one name are an error.
   */
  readonly shared?: boolean;
  /** A template of one variable: what stands behind each of its choices is listed as a resource of its own. */
  readonly listed?: boolean;
  /**
   * A tool whose call may go on after it was answered: a client that knows tasks is given one to ask after, where it is not done at
   * once. "required": other clients are refused, "optional": they wait. Absent: everybody waits.
   */
  readonly task?: TaskSupport;
  /**
   * A resource whose content is of these members of its actor's state alone: who listens to it is not told where a turn wrote others.
   * Absent: all may be.
   */
  readonly reads?: readonly string[];
}

/** What a viewer may do and see now. Pure. */
export interface Surface {
  readonly catalogue: Catalogue;
  /** Not now: why, or true where the author gave no reason. */
  readonly off: Readonly<Record<OfferRef, string | true>>;
  /** Argument → allowed values: shown as `enum` (and completed), checked in the turn, never compiled. */
  readonly choices?: Readonly<Record<OfferRef, Readonly<Record<string, readonly string[]>>>>;
  /** Prefix ("" for none) → actor whose surface joins; a cast is a viewer's links. */
  readonly links?: Readonly<Record<string, ActorId>>;
  /** Prefix → why nothing joins there now: what is offered there is refused with it. Of a prefix in neither nothing is told. */
  readonly linksOff?: Readonly<Record<string, string>>;
}
