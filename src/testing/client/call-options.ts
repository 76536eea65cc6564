import type { JsonObject } from "../../core/contract/index.ts";
import type { AnswerScripts } from "./answers.ts";
import type { HttpCall } from "./http-call.ts";
import type { TestEra } from "./wire.ts";

/** Options of a test client: who it is, and what it can do. */
export interface TestClientOptions {
  /** Default `legacy`: `initialize` and a session. `modern`: each request stands alone. */
  readonly era?: TestEra;
  /** Default: the latest of the era. */
  readonly revision?: string;
  /** Who calls, as if a token had said so. Default `tester`; null: nobody in particular. */
  readonly principal?: string | null;
  /** Default none. */
  readonly scopes?: readonly string[];
  /** Its `viewer.claims`, as the server's options would take them of a token. Default none. */
  readonly claims?: JsonObject;
  /** What it answers when the server asks. */
  readonly answers?: AnswerScripts;
  /** Whether it hears of changes: a standalone stream, or `subscriptions/listen`. Default true. */
  readonly listen?: boolean;
  /** Sent with every request; lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default `{ name: "test-client", version: "1.0.0" }`. */
  readonly info?: JsonObject;
  /** Sees each HTTP request as it leaves. */
  readonly onCall?: (call: HttpCall) => void;
}

/** What a call of the test client has beyond its arguments. */
export interface CallMore {
  /** Names the call: sent again under its name, it gets its first reply (C4). */
  readonly key?: string;
  /** Progress of the call then comes as notifications. */
  readonly progressToken?: string | number;
  /** More of the request's `_meta`. */
  readonly meta?: JsonObject;
}
