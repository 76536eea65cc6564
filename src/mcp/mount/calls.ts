// Owns: calls that run in a mounted server, their progress, and what the server asks the client of a call.
// Does not own: the connection (wire.ts), the handshake and short requests (mounted-server.ts).
import {
  type JsonObject,
  isJsonObject,
  type Json,
  type OfferRef,
  CONTENT,
  type ListName,
  isList,
  type CallOptions,
  type Clock,
  EngineError,
  type Reply,
  type Entropy,
  type Viewer,
  isSignedIn,
} from "../../core/contract/index.ts";
import { inWords, peerOf } from "../../core/contract/internal.ts";
import { sameJson } from "../source/index.ts";
import { METHOD_NOT_FOUND, faultOf, refusalOf, Closed, RpcError } from "./failures.ts";
import type { McpServerOptions } from "./options.ts";
import type { Wire } from "./wire.ts";

/** The client capability that a request needs; undefined: servers may not make it. */
function capabilityOf(method: string, params: JsonObject): string | undefined {
  if (method === "roots/list") return "roots";
  if (method === "sampling/createMessage") return params["tools"] === undefined ? "sampling" : "sampling.tools";
  if (method === "elicitation/create") return params["mode"] === "url" ? "elicitation.url" : "elicitation";
  return undefined;
}

/** Declared to the server, since clients differ: whether a client has one is checked per request. */
export const EVERY_CAPABILITY: JsonObject = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };

/** Removes `_meta`: the client gets one from this server. */
function withoutMeta(params: JsonObject): JsonObject {
  const { _meta, ...rest } = params;
  return isJsonObject(_meta) || _meta === undefined ? rest : params;
}

const RESOURCES = "resources/";

/** The URI of a resource, or of a template with its variables expanded. */
export function uriOf(ref: OfferRef, args: Json): string {
  const name = ref.slice(RESOURCES.length);
  if (!isJsonObject(args)) return name;
  return name.replaceAll(/\{([^{}]+)\}/g, (_whole, expression: string) => {
    const value = Object.hasOwn(args, expression) ? args[expression] : undefined;
    return typeof value === "string" ? value : "";
  });
}

const listIn = (value: Json | undefined): readonly Json[] => (isList(value) ? value : []);

/** A result of `tools/call`, `resources/read` or `prompts/get` as a source's reply. */
export function valueOf(list: ListName, result: JsonObject): Json {
  const meta = isJsonObject(result["_meta"]) ? { meta: result["_meta"] } : undefined;
  if (list === "resources")
    return { [CONTENT]: listIn(result["contents"]).map((one): Json => ({ type: "resource", resource: one })), ...meta };
  if (list === "prompts") {
    const { description } = result;
    const text = typeof description === "string" ? { description } : undefined;
    return { [CONTENT]: [], messages: listIn(result["messages"]), ...text, ...meta };
  }
  const { isError, structuredContent: structured } = result;
  return {
    [CONTENT]: listIn(result["content"]).filter(isJsonObject),
    ...(structured === undefined ? undefined : { structured }),
    ...(typeof isError === "boolean" ? { isError } : undefined),
    ...meta,
  };
}

type Answer = { readonly result: Json } | { readonly error: JsonObject };

/** The answer to a question, or the error in its place. Undefined: the client has not answered, or has no question yet. */
function answerIn({ answers, unanswered }: CallOptions, key: string): Answer | undefined {
  if (answers !== undefined && Object.hasOwn(answers, key)) return { result: answers[key] ?? null };
  const error = unanswered !== undefined && Object.hasOwn(unanswered, key) ? unanswered[key] : undefined;
  return isJsonObject(error) ? { error } : undefined;
}

/** A request of the server to the client of a call. */
interface Question {
  readonly request: JsonObject;
  answer(answer: Answer): void;
}

export interface RunningOptions {
  readonly ref: OfferRef;
  readonly args: Json;
  readonly principal: string | undefined;
  /** The principal; of a caller that has not signed in, its address. */
  readonly caller: string;
  readonly clock: Clock;
  readonly callMs: number;
  readonly askMs: number;
  /** Notifies the server that the call is cancelled, and why. */
  readonly cancel: (reason: string) => void;
  /** The call is over. */
  readonly ended: () => void;
}

/**
 * A call in the server, from its first request to its reply. When the server asks the client something, the reply is `needs`; the
 * handler waits, and continues when the client repeats the call with the answers. So the handler runs once.
 */
export class RunningCall {
  readonly #own: RunningOptions;
  readonly #questions = new Map<string, Question>();
  #options: CallOptions;
  #round: PromiseWithResolvers<Reply> | undefined;
  #outcome: { readonly reply: Reply } | { readonly error: unknown } | undefined;
  #undo: (() => void) | undefined;
  #asking = false;
  #over = false;

  constructor(own: RunningOptions, options: CallOptions) {
    this.#own = own;
    this.#options = options;
    options.signal?.addEventListener("abort", this.#aborted, { once: true });
  }

  get options(): CallOptions {
    return this.#options;
  }

  /** Identifies the call when it is repeated. */
  get about(): Pick<RunningOptions, "ref" | "args" | "principal" | "caller"> {
    return this.#own;
  }

  /** The reply, or the questions for the client. Answers in `options` are sent to the server first. */
  next(options: CallOptions): Promise<Reply> {
    if (this.#round !== undefined) return this.#round.promise;
    const round = Promise.withResolvers<Reply>();
    this.#round = round;
    this.#undo?.();
    if (this.#options !== options) this.#repeated(options);
    if (this.#over) return round.promise;
    this.#undo = this.#own.clock.after(this.#own.callMs, () => this.#timeOut());
    if (this.#outcome !== undefined) this.#settle(this.#outcome);
    else if (this.#questions.size > 0) this.#ask();
    return round.promise;
  }

  question(key: string, question: Question): void {
    this.#questions.set(key, question);
    this.#ask();
  }

  /** The server has cancelled the question. */
  withdraw(key: string): void {
    this.#questions.delete(key);
  }

  finish(outcome: { readonly reply: Reply } | { readonly error: unknown }): void {
    if (this.#over || this.#outcome !== undefined) return;
    this.#outcome = outcome;
    if (this.#round !== undefined) this.#settle(outcome);
  }

  #repeated(options: CallOptions): void {
    this.#options.signal?.removeEventListener("abort", this.#aborted);
    this.#options = options;
    if (options.signal?.aborted === true) return this.#aborted();
    options.signal?.addEventListener("abort", this.#aborted, { once: true });
    for (const [key, question] of this.#questions) {
      const answer = answerIn(options, key);
      if (answer === undefined) continue;
      this.#questions.delete(key);
      question.answer(answer);
    }
  }

  // Questions of one tick go to the client together.
  #ask(): void {
    if (this.#asking) return;
    this.#asking = true;
    queueMicrotask(() => {
      this.#asking = false;
      const round = this.#round;
      if (round === undefined || this.#questions.size === 0) return;
      this.#round = undefined;
      this.#undo?.();
      this.#undo = this.#own.clock.after(this.#own.askMs, () => this.#cancel("Its client did not answer in time."));
      round.resolve({ needs: Object.fromEntries([...this.#questions].map(([key, { request }]) => [key, request])), running: true });
    });
  }

  readonly #aborted = (): void => {
    this.#cancel("The client has left.");
  };

  #timeOut(): void {
    const { ref, callMs } = this.#own;
    const error = new EngineError(
      "WORK_TIMEOUT",
      `${ref} took longer than ${inWords(callMs)} and was cancelled; what it did until then may stay. Check that first, then call again, with less to do at once if you can.`,
      { applied: "unknown" },
    );
    this.#own.cancel("It took too long.");
    this.#settle({ error });
  }

  #cancel(reason: string): void {
    if (this.#over) return;
    this.#own.cancel(reason);
    this.#settle({ error: new EngineError("CANCELLED", `${this.#own.ref} was cancelled.`, { applied: "unknown" }) });
  }

  #settle(outcome: { readonly reply: Reply } | { readonly error: unknown }): void {
    if (this.#over) return;
    this.#over = true;
    this.#undo?.();
    this.#options.signal?.removeEventListener("abort", this.#aborted);
    this.#questions.clear();
    this.#own.ended();
    if ("reply" in outcome) this.#round?.resolve(outcome.reply);
    else this.#round?.reject(outcome.error);
  }
}

export interface CallsOptions {
  readonly wire: Wire;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly options: McpServerOptions;
}

interface PendingQuestion {
  readonly call: RunningCall;
  /** The id of the server's request. */
  readonly id: number | string;
}

/** The calls that run in one server, and its questions to their clients. */
export class Calls {
  readonly #own: CallsOptions;
  readonly #running = new Map<number, RunningCall>();
  /** By the key of the client's answer. */
  readonly #pending = new Map<string, PendingQuestion>();

  constructor(own: CallsOptions) {
    this.#own = own;
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions, extra: object): Promise<Reply> {
    const keys = Object.keys({ ...options.answers, ...options.unanswered });
    if (keys.length === 0 && options.signal?.aborted === true) throw new EngineError("CANCELLED", `${ref} was cancelled before it began.`);
    if (keys.length === 0) return this.#start(viewer, ref, args, options, extra).next(options);
    const call = keys.map((key) => this.#pending.get(key)?.call).find((one) => one !== undefined);
    const same =
      call !== undefined && call.about.ref === ref && call.about.principal === viewer.principal && sameJson(call.about.args, args);
    if (same) return call.next(options);
    // It waited no longer than `askMs`, and was cancelled then.
    if (options.unanswered !== undefined)
      throw new EngineError(
        "WORK_TIMEOUT",
        `${ref} was cancelled, since its client did not answer; what it did until then may stay. Check that first, then call again.`,
        { applied: "unknown" },
      );
    // A handler must not run again with the answers of another run.
    return { refused: { code: "NOT_NOW", message: "The question is no longer pending: call again from the beginning." } };
  }

  /** A call runs, or waits for its client. */
  get busy(): boolean {
    return this.#running.size > 0;
  }

  /** The options of a running call. */
  options(within: number | undefined): CallOptions | undefined {
    return within === undefined ? undefined : this.#running.get(within)?.options;
  }

  /** False: servers cannot request this of clients. */
  onRequest(id: number | string, method: string, params: JsonObject, within: number | undefined): boolean {
    const capability = capabilityOf(method, params);
    if (capability === undefined) return false;
    const call = within === undefined ? undefined : this.#running.get(within);
    if (call === undefined) return this.#refuse(id, `No requests to the client outside of a call: ${method}`);
    if (call.options.can?.includes(capability) !== true) return this.#refuse(id, `Client does not support ${capability}`);
    const { entropy, options } = this.#own;
    const { maxAsking: most = 1_000 } = options;
    if (this.#pending.size >= most || this.#othersOf(call) >= Math.max(1, most / 2))
      return this.#refuse(id, "Too many calls wait for their clients already");
    const key = `sdk-${entropy.hex(16)}`;
    this.#pending.set(key, { call, id });
    call.question(key, {
      request: { method, params: withoutMeta(params) },
      answer: (answer) => this.#own.wire.respond(id, answer),
    });
    return true;
  }

  /** Progress, and cancelled questions. */
  onNotification(method: string, params: JsonObject): void {
    if (method === "notifications/progress") this.#progress(params);
    if (method !== "notifications/cancelled") return;
    for (const [key, { call, id }] of this.#pending) if (id === params["requestId"]) call.withdraw(key);
  }

  /** The server has closed: all calls fail, those that wait for clients when these answer. */
  close(): void {
    for (const call of this.#running.values()) call.finish({ error: faultOf(new Closed("The server has closed."), call.about.ref) });
    this.#running.clear();
  }

  /** How many other calls of the same caller wait for their client. */
  #othersOf(call: RunningCall): number {
    const others = new Set<RunningCall>();
    for (const { call: other } of this.#pending.values()) if (other.about.caller === call.about.caller) others.add(other);
    others.delete(call);
    return others.size;
  }

  #refuse(id: number | string, message: string): true {
    this.#own.wire.respond(id, { error: { code: METHOD_NOT_FOUND, message } });
    return true;
  }

  #progress({ progressToken, progress, total, message }: JsonObject): void {
    if (typeof progressToken !== "number" || typeof progress !== "number") return;
    const { onProgress } = this.#running.get(progressToken)?.options ?? {};
    onProgress?.(progress, typeof total === "number" ? total : undefined, typeof message === "string" ? message : undefined);
  }

  #start(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions, extra: object): RunningCall {
    const { wire, clock, options: own } = this.#own;
    const list = listOf(ref);
    const meta = (id: number): JsonObject => ({
      ...options.trace,
      ...(options.key === undefined ? undefined : { "troupe/callId": options.key }),
      ...(options.onProgress === undefined ? undefined : { progressToken: id }),
    });
    const sent: { id?: number } = {};
    const call = new RunningCall(
      {
        ref,
        args,
        principal: viewer.principal,
        // Anyone may open many sessions, each of which has a principal of its own.
        caller: isSignedIn(viewer) ? `principal ${viewer.principal}` : `peer ${peerOf(options.peer)}`,
        clock,
        callMs: own.callMs ?? 55_000,
        askMs: own.askMs ?? 600_000,
        cancel: (reason) => sent.id !== undefined && wire.cancel(sent.id, reason),
        ended: () => {
          if (sent.id !== undefined) this.#running.delete(sent.id);
          for (const [key, pending] of this.#pending) if (pending.call === call) this.#pending.delete(key);
        },
      },
      options,
    );
    // A server may answer or ask before `request` returns, so the call is registered first.
    const params = (id: number): JsonObject => {
      sent.id = id;
      this.#running.set(id, call);
      const _meta = meta(id);
      return { ...paramsOf(list, ref, args), ...(Object.keys(_meta).length === 0 ? undefined : { _meta }) };
    };
    wire.request(METHODS[list], params, extra).result.then(
      (result) => call.finish({ reply: { ok: valueOf(list, result) } }),
      (error: unknown) => call.finish(error instanceof RpcError ? { reply: refusalOf(error) } : { error: faultOf(error, ref) }),
    );
    return call;
  }
}

const METHODS: Readonly<Record<ListName, string>> = { tools: "tools/call", resources: "resources/read", prompts: "prompts/get" };

function listOf(ref: OfferRef): ListName {
  if (ref.startsWith("tools/")) return "tools";
  return ref.startsWith("prompts/") ? "prompts" : "resources";
}

function paramsOf(list: ListName, ref: OfferRef, args: Json): JsonObject {
  if (list === "resources") return { uri: uriOf(ref, args) };
  return { name: ref.slice(list.length + 1), arguments: isJsonObject(args) ? args : {} };
}
