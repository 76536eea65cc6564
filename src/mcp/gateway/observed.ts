import type { Bag, Caller, Observation, ObservedFailure, ObservedRequest, Observer } from "../../core/contract/index.ts";
import { omitUndefined, MAX_URI, safeCall } from "../../core/contract/internal.ts";
import type { Members } from "./call.ts";
import type { Core } from "./core.ts";
import { traceOf } from "./envelope.ts";
import { type Fault, faultOf, inLog, wireError } from "./errors.ts";
import { bagIn, shortText } from "./json.ts";
import type { Request } from "./json-rpc.ts";
import type { Era, Revision } from "./revision.ts";

const MAX_NAME = 256;
// What is said within a result is JSON in JSON: its quotes are escaped, but for what is structured, which comes behind this.
const TOOL_FAILED = /\],"isError":true(?:$|,"structuredContent":)/;

export interface Looked {
  readonly request: Request;
  readonly era: Era;
  readonly caller: Caller;
  readonly revision: Revision | undefined;
  readonly session: string | undefined;
}

/** Serves a request while the observer looks on; `serve` is given the trace it goes on in. What the observer throws is logged, and no more. */
export function observed<T>(
  core: Core,
  observer: Observer,
  looked: Looked,
  serve: (trace: Bag | undefined) => T | Promise<T>,
  failureIn: (answer: T) => ObservedFailure | undefined,
): T | Promise<T> {
  const observation = begun(core, observer, looked);
  if (observation === undefined) return serve(undefined);
  const ended = (failure: ObservedFailure | undefined): void => safeCall(() => observation.ended(failure), failing(core));
  const threw = (error: unknown): never => {
    ended(faultFailure(core, looked.era, faultOf(error)));
    throw error;
  };
  let answer: T | Promise<T>;
  try {
    answer = observation.during(() => serve(observation.trace));
  } catch (error) {
    return threw(error);
  }
  const answered = (one: T): T => {
    ended(failureIn(one));
    return one;
  };
  return answer instanceof Promise ? answer.then(answered, threw) : answered(answer);
}

/** The same of what begins a session, which does not fail but by throwing. */
export function observedBegin<T>(core: Core, request: Request, caller: Caller, begin: () => T): T;
export function observedBegin<T>(core: Core, request: Request, caller: Caller, begin: () => T | Promise<T>): T | Promise<T> {
  const { observer } = core.settings;
  if (observer === undefined) return begin();
  return observed(core, observer, { request, era: "legacy", caller, revision: undefined, session: undefined }, begin, () => undefined);
}

export function faultFailure({ settings }: Core, era: Era, fault: Fault): ObservedFailure {
  const { code, message } = wireError(fault, era, settings.profile.faults);
  return { kind: "error", code, message };
}

/** Of a reply that is there; undefined: the request was cancelled. */
export function replyFailure({ method }: Request, reply: Pick<Members, "members"> | undefined): ObservedFailure | undefined {
  if (reply === undefined) return { kind: "cancelled" };
  const failed = method === "tools/call" && typeof reply.members === "string" && TOOL_FAILED.test(reply.members);
  return failed ? { kind: "tool" } : undefined;
}

function begun(core: Core, observer: Observer, { request, caller, revision, session }: Looked): Observation | undefined {
  const { method, id, params } = request;
  const name = method === "tools/call" || method === "prompts/get" ? shortText(params["name"], MAX_NAME) : undefined;
  const uri = method.startsWith("resources/") ? shortText(params["uri"], MAX_URI) : undefined;
  const trace = traceOf(bagIn(params, "_meta"));
  const about: ObservedRequest = {
    method,
    id,
    ...omitUndefined({ revision, name, uri, session, peer: caller.peer, trace }),
  };
  try {
    return observer.begun(about);
  } catch (error) {
    failing(core)(error);
    return undefined;
  }
}

const failing =
  ({ settings }: Core) =>
  (error: unknown): void =>
    settings.log("error", { event: "observer-failed", ...inLog(error) });
