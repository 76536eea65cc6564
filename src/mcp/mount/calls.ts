import {
  type Bag,
  type CallOptions,
  type Clock,
  EngineError,
  type Entropy,
  isBag,
  type Json,
  type ListName,
  type OfferRef,
  type Reply,
  type Viewer,
} from "../../core/contract/index.ts";
import { sameJson } from "../source/index.ts";
import { capabilityOf, withoutMeta } from "./client-requests.ts";
import { METHOD_NOT_FOUND } from "./codes.ts";
import { faultOf, refusalOf } from "./failures.ts";
import type { McpServerOptions } from "./options.ts";
import { valueOf } from "./results.ts";
import { Closed, RpcError } from "./rpc-error.ts";
import { RunningCall } from "./running-call.ts";
import { uriOf } from "./uri.ts";
import type { Wire } from "./wire.ts";

export interface CallsOptions {
  readonly wire: Wire;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly options: McpServerOptions;
}

interface Asked {
  readonly call: RunningCall;
  /** The request of the server, until it is answered. */
  readonly id: number | string;
}

/** What runs in one server, and what it asks the clients of what runs. */
export class Calls {
  readonly #own: CallsOptions;
  readonly #running = new Map<number, RunningCall>();
  /** By the key the client's answer comes under. */
  readonly #asked = new Map<string, Asked>();

  constructor(own: CallsOptions) {
    this.#own = own;
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions, extra: object): Promise<Reply> {
    if (options.signal?.aborted === true) throw new EngineError("CANCELLED", `${ref} was cancelled before it began.`);
    if (options.answers === undefined || Object.keys(options.answers).length === 0)
      return this.#begin(viewer, ref, args, options, extra).next(options);
    const keys = Object.keys(options.answers);
    const call = keys.map((key) => this.#asked.get(key)?.call).find((one) => one !== undefined);
    const same =
      call !== undefined && call.about.ref === ref && call.about.principal === viewer.principal && sameJson(call.about.args, args);
    if (same) return call.next(options);
    // A handler that ran once shall not run again under the answers of another run.
    return { refused: { code: "NOT_NOW", message: "What was asked is not waited for any more: call again from the beginning." } };
  }

  /** Of the call in whose course something was said. */
  options(within: number | undefined): CallOptions | undefined {
    return within === undefined ? undefined : this.#running.get(within)?.options;
  }

  /** False: no server asks this of a client. */
  asked(id: number | string, method: string, params: Bag, within: number | undefined): boolean {
    const capability = capabilityOf(method, params);
    if (capability === undefined) return false;
    const call = within === undefined ? undefined : this.#running.get(within);
    if (call === undefined) return this.#refuse(id, `Client cannot be asked outside of a call: ${method}`);
    if (call.options.can?.includes(capability) !== true) return this.#refuse(id, `Client does not support ${capability}`);
    const { entropy, options } = this.#own;
    if (this.#asked.size >= (options.maxAsking ?? 1_000)) return this.#refuse(id, "Too many calls wait for their clients already");
    const key = `sdk-${entropy.hex(16)}`;
    this.#asked.set(key, { call, id });
    call.question(key, {
      request: { method, params: withoutMeta(params) },
      answer: (result) => this.#own.wire.respond(id, { result }),
    });
    return true;
  }

  /** Progress, and questions taken back. */
  told(method: string, params: Bag): void {
    if (method === "notifications/progress") this.#progress(params);
    if (method !== "notifications/cancelled") return;
    for (const [key, { call, id }] of this.#asked) if (id === params["requestId"]) call.withdraw(key);
  }

  /** The server has gone: also what waits for a client is over, and says so when that comes. */
  close(): void {
    for (const call of this.#running.values()) call.finish({ error: faultOf(new Closed("The server has closed."), call.about.ref) });
    this.#running.clear();
  }

  #refuse(id: number | string, message: string): true {
    this.#own.wire.respond(id, { error: { code: METHOD_NOT_FOUND, message } });
    return true;
  }

  #progress({ progressToken, progress, total, message }: Bag): void {
    if (typeof progressToken !== "number" || typeof progress !== "number") return;
    const { onProgress } = this.#running.get(progressToken)?.options ?? {};
    onProgress?.(progress, typeof total === "number" ? total : undefined, typeof message === "string" ? message : undefined);
  }

  #begin(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions, extra: object): RunningCall {
    const { wire, clock, options: own } = this.#own;
    const list = listOf(ref);
    const meta = (id: number): Bag => ({
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
        clock,
        callMs: own.callMs ?? 60_000,
        askMs: own.askMs ?? 600_000,
        cancel: (reason) => sent.id !== undefined && wire.cancel(sent.id, reason),
        ended: () => {
          if (sent.id !== undefined) this.#running.delete(sent.id);
          for (const [key, asked] of this.#asked) if (asked.call === call) this.#asked.delete(key);
        },
      },
      options,
    );
    // A server may answer, or ask, before `request` returns: the call is known by then.
    const begun = (id: number): Bag => {
      sent.id = id;
      this.#running.set(id, call);
      const _meta = meta(id);
      return { ...paramsOf(list, ref, args), ...(Object.keys(_meta).length === 0 ? undefined : { _meta }) };
    };
    wire.request(METHODS[list], begun, extra).result.then(
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

function paramsOf(list: ListName, ref: OfferRef, args: Json): Bag {
  if (list === "resources") return { uri: uriOf(ref, args) };
  return { name: ref.slice(list.length + 1), arguments: isBag(args) ? args : {} };
}
