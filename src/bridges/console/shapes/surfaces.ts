// Owns: the JSON of what a viewer is offered, and calls as that viewer.

import type { ActorId, Json, JsonObject, ListName, OfferRef } from "../../../core/contract/index.ts";

/** `GET /actors/:kind/:key/surface?principal=&scopes=a,b&claims={…}&lists=dynamic|static` */
export interface SurfaceShape {
  readonly viewer: ViewerShape;
  /** Those that the viewer has. Absent: the kind defines none. */
  readonly roles?: readonly string[];
  readonly lists: "dynamic" | "static";
  readonly seq: number;
  readonly offers: readonly OfferShape[];
  readonly links: readonly LinkShape[];
}

/** The caller that a surface is for, or that a call is made as. */
export interface ViewerShape {
  readonly principal?: string;
  readonly scopes: readonly string[];
  readonly claims?: JsonObject;
}

/** `POST /viewer-tokens`: a bearer token for MCP, whose caller is then the viewer in the body. It needs the ability `connect-as`. */
export interface ViewerToken {
  readonly token: string;
  readonly expiresAt: number;
}

/** A tool, resource or prompt as a viewer has it now: on, or off and why. */
export interface OfferShape {
  readonly ref: OfferRef;
  readonly list: ListName;
  readonly name: string;
  /** As MCP lists it. */
  readonly definition: JsonObject;
  readonly readOnly: boolean;
  readonly on: boolean;
  /** Why it is off. Absent, and `on` false: the author gave no reason, so clients see no such offer. */
  readonly reason?: string;
  /**
   * Which rule it is off by: the author's `enabled` or `allow`, a scope, a link that leads nowhere, or that the actor is out of order, has
   * stopped, or belongs to another principal.
   */
  readonly by?: "enabled" | "allow" | "scope" | "failed" | "link" | "stopped" | "owner";
  /** The scopes that it needs. */
  readonly scopes?: readonly string[];
  /** The roles that it is for (`allow`), one of which is enough. */
  readonly roles?: readonly string[];
  /** Whether this viewer's list shows it, in that list mode. */
  readonly listed: boolean;
  /** Argument → values allowed now. */
  readonly choices?: Readonly<Record<string, readonly string[]>>;
  /** Through which link it comes. */
  readonly link?: string;
  /** An argument says which actor is meant, and that actor decides: `on` says only that there is one. */
  readonly byArgument?: true;
}

/** A link of an actor: where it leads for a viewer, or why nowhere. */
export interface LinkShape {
  readonly prefix: string;
  readonly to?: ActorId;
  /** Keys that may be addressed; true: of all such actors. */
  readonly keys?: readonly string[] | true;
  readonly reason?: string;
}

/** `POST /actors/:kind/:key/call`. As the viewer it needs the ability `act-as`; without `as`, as the operator who calls. */
export interface CallInput {
  readonly offer: OfferRef;
  readonly arguments?: JsonObject;
  readonly as?: ViewerShape;
  /** The actor may begin with this call. Without it, an actor that has not begun is not found. */
  readonly begin?: boolean;
  /** Idempotency (C4). */
  readonly key?: string;
  /** To the questions (`needs`) of an earlier reply. */
  readonly answers?: JsonObject;
  /** What the client supports: `elicitation`, `sampling`, `roots`. Tools that ask do so only of clients that do. */
  readonly can?: readonly string[];
  /** Also answer with what an MCP client would get. */
  readonly withResult?: boolean;
}

/** What a call ends with. */
export interface CallOutcome {
  /** `ok`, `refused` or `needs`, as the engine replied. */
  readonly reply: Json;
  readonly ms: number;
  /** What was committed. Absent: nothing. */
  readonly receipt?: { readonly actor: string; readonly seq: number; readonly head: string };
  /** With `withResult`: the result in the newest revision of MCP. Absent: clients get an error, or a question. */
  readonly result?: JsonObject;
}
