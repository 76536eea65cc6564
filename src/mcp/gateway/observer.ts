// Owns: reporting requests to the observer, if there is one. Does not own: what an observer does with them (hosts/telemetry).
import type { JsonObject, Caller, Observation, ObservedFailure, ObservedRequest } from "../../core/contract/index.ts";
import { MAX_URI, omitUndefined, safeCall, andThenElse } from "../../core/contract/internal.ts";
import type { Members } from "./call.ts";
import type { Core } from "./core.ts";
import { claimedVersion, traceOf } from "./envelope.ts";
import { type Fault, faultOf, inLog, wireError } from "./errors.ts";
import { objectIn, type Request, shortText } from "./json-rpc.ts";
import { type Era, isModernRevision, type Revision } from "./revision.ts";

const MAX_NAME = 256;
// The text of a result is JSON within JSON, so its quotes are escaped; only `structuredContent` is not, and it comes after this.
const TOOL_FAILED = /\],"isError":true(?:$|,"structuredContent":)/;

/** One request, as it is reported. What the observer throws is logged, and reaches no client. */
export interface RequestObserver {
  /** The trace in which the request goes on. Absent: its client's. */
  readonly trace: JsonObject | undefined;
  during<T>(work: { run(): T }): T;
  /** The request was answered; undefined: it was cancelled. */
  replied(reply: Pick<Members, "members"> | undefined): void;
  failed(fault: Fault): void;
}

/** Without an observer: nothing is built and nothing is reported. */
export const UNOBSERVED: RequestObserver = {
  trace: undefined,
  during: (work) => work.run(),
  replied: () => undefined,
  failed: () => undefined,
};

/** `session`: undefined for a request of 2026-07-28, and for initialize. */
export function observe(core: Core, request: Request, era: Era, caller: Caller, session: ObservedSession | undefined): RequestObserver {
  const { observer } = core.settings;
  if (observer?.begun === undefined) return UNOBSERVED;
  try {
    return new Reported(core, observer.begun(describe(request, era, caller, session)), request, era);
  } catch (error) {
    logFailure(core, error);
    return UNOBSERVED;
  }
}

interface ObservedSession {
  readonly revision: Revision;
  readonly name: string;
}

/** Reports a request that begins a session. */
export function observeBegin<T>(core: Core, request: Request, caller: Caller, run: () => T): T;
export function observeBegin<T>(core: Core, request: Request, caller: Caller, run: () => T | Promise<T>): T | Promise<T> {
  const seen = observe(core, request, "legacy", caller, undefined);
  const failed = (error: unknown): never => {
    seen.failed(faultOf(error));
    throw error;
  };
  try {
    return andThenElse<T, T, []>(
      seen.during({ run }),
      (answer) => {
        seen.replied({ members: "" });
        return answer;
      },
      failed,
    );
  } catch (error) {
    return failed(error);
  }
}

function describe({ method, id, params }: Request, era: Era, caller: Caller, session: ObservedSession | undefined): ObservedRequest {
  const name = method === "tools/call" || method === "prompts/get" ? shortText(params["name"], MAX_NAME) : undefined;
  const uri = method.startsWith("resources/") ? shortText(params["uri"], MAX_URI) : undefined;
  const claimed = era === "modern" ? claimedVersion(params) : undefined;
  const revision = session?.revision ?? (claimed !== undefined && isModernRevision(claimed) ? claimed : undefined);
  const trace = traceOf(objectIn(params, "_meta"));
  return { method, id, ...omitUndefined({ revision, name, uri, session: session?.name, peer: caller.peer, trace }) };
}

class Reported implements RequestObserver {
  readonly #core: Core;
  readonly #observation: Observation;
  readonly #request: Request;
  readonly #era: Era;

  constructor(core: Core, observation: Observation, request: Request, era: Era) {
    this.#core = core;
    this.#observation = observation;
    this.#request = request;
    this.#era = era;
  }

  get trace(): JsonObject | undefined {
    return this.#observation.trace;
  }

  during<T>(work: { run(): T }): T {
    return this.#observation.during(() => work.run());
  }

  replied(reply: Pick<Members, "members"> | undefined): void {
    if (reply === undefined) return this.#ended({ kind: "cancelled" });
    const failed = this.#request.method === "tools/call" && typeof reply.members === "string" && TOOL_FAILED.test(reply.members);
    this.#ended(failed ? { kind: "tool" } : undefined);
  }

  failed(fault: Fault): void {
    const { code, message } = wireError(fault, this.#era, this.#core.settings.dialect.faults);
    this.#ended({ kind: "error", code, message });
  }

  #ended(failure: ObservedFailure | undefined): void {
    safeCall(
      () => this.#observation.ended(failure),
      (error) => logFailure(this.#core, error),
    );
  }
}

function logFailure({ settings }: Core, error: unknown): void {
  settings.log("error", { event: "observer-failed", ...inLog(error) });
}
