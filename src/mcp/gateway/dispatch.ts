// Owns: the way of every request of both eras, in reading order: limit, resolve, scopes, validate, act, encode. Does not own: what tools,
// resources and prompts differ in (offer-kinds.ts), the other methods (list-pages.ts, completion.ts, tasks.ts), and the reply's shape in each era.
import type { JsonObject, Caller, Catalogue, Json, Receipt, Reply, Surface } from "../../core/contract/index.ts";
import { hasOwn, isContent, andThen, andThenElse, ReceiptRecorder } from "../../core/contract/internal.ts";
import { complete } from "./completion.ts";
import { type Call, type Method, methodNotFound, type Outcome, type Refusal } from "./call.ts";
import type { Core } from "./core.ts";
import { Fault, type ValidationError } from "./errors.ts";
import { objectIn } from "./json-rpc.ts";
import { type OfferKind, prompt, resource, tool, withHandlerErrors } from "./offer-kinds.ts";
import { listMethods } from "./list-pages.ts";
import { explainMissing, indexOf, missingIn, requireScopes, scopeFault, type Target } from "./find-offer.ts";
import type { Settings } from "./options.ts";
import { CANNOT_ASK, cannotAsk, capabilitiesIn } from "./question-shapes.ts";
import { eraOf, has, TASKS } from "./revision.ts";
import { knowsTasks, needsTasks, offersTasks, type Tasks } from "./tasks.ts";

const RECEIPT_META = "troupe/receipt";

/** Performs one request. Throws, or rejects with, a `Fault`. */
export function dispatch(core: Core, call: Call, caller: Caller): Outcome | Promise<Outcome> {
  core.limit(caller, call.viewer);
  return dispatchRound(core, call);
}

/** Likewise, a further round of a call that has its token. */
export function dispatchRound(core: Core, call: Call): Outcome | Promise<Outcome> {
  const method = core.methods.get(call.method);
  if (method === undefined) throw methodNotFound(call.method);
  return method(call);
}

/** The methods that both eras have. `tasks`: absent where no call becomes one. */
export function methodsOf(settings: Settings, tasks: Tasks | undefined): ReadonlyMap<string, Method> {
  const methods = new Map<string, Method>([
    ["tools/call", new OfferMethod(tool, settings, tasks).perform],
    ["resources/read", new OfferMethod(resource, settings).perform],
    ["prompts/get", new OfferMethod(prompt, settings).perform],
    ...Object.entries(listMethods(settings)),
    ["completion/complete", complete],
    ...Object.entries(tasks?.methods ?? {}),
  ]);
  for (const method of settings.dialect.withholds) methods.delete(method);
  return methods;
}

/** `tools/call`, `resources/read` and `prompts/get`: resolve, check scopes, validate, act, encode. */
class OfferMethod {
  readonly #kind: OfferKind;
  readonly #receipts: boolean;
  readonly #handlerErrors: boolean;
  readonly #tasks: Tasks | undefined;

  constructor(kind: OfferKind, { receipts, dialect }: Settings, tasks?: Tasks) {
    this.#tasks = tasks;
    this.#kind = dialect.handlerErrors ? withHandlerErrors(kind) : kind;
    this.#receipts = receipts;
    this.#handlerErrors = dialect.handlerErrors;
  }

  readonly perform: Method = (call) => {
    const target = this.#resolve(call);
    return target === undefined ? this.#onSurface(call) : this.#check(call, target, undefined);
  };

  /** The offer that a call names, by its catalogue. Undefined: only the surface can tell. */
  #resolve(call: Call): Target | undefined {
    const catalogue = call.source.catalogue?.(call.viewer);
    if (catalogue === undefined) return undefined;
    return catalogue.missing === undefined ? this.#kind.target(call, indexOf(catalogue)) : this.#find(call, catalogue);
  }

  // What is not found may be at a source that could not be reached last time: the surface asks it again.
  #find(call: Call, catalogue: Catalogue): Target | undefined {
    try {
      return this.#kind.target(call, indexOf(catalogue));
    } catch {
      return undefined;
    }
  }

  // A method of its own: V8 allocates the variables that a function closes over on each call of it, and most calls do not come here.
  #onSurface(call: Call): Outcome | Promise<Outcome> {
    return andThen(call.source.surface(call.viewer), (surface: Surface) => {
      const target = explainMissing(surface.catalogue, () => this.#kind.target(call, indexOf(surface.catalogue)));
      return this.#check(call, target, surface);
    });
  }

  #check(call: Call, target: Target, surface: Surface | undefined): Outcome | Promise<Outcome> {
    let invalid: ValidationError | undefined;
    try {
      requireScopes(target.scopes, call.viewer.scopes);
      invalid = this.#kind.validate(call, target);
    } catch (error) {
      return this.#failed(call, target, surface, error);
    }
    if (invalid !== undefined) return this.#invalid(call, target, surface, invalid);
    const mayBeTask = this.#tasks !== undefined && (target.offer.task !== undefined || call.params["task"] !== undefined);
    return mayBeTask ? this.#asTask(this.#tasks, call, target, surface) : this.#act(call, target);
  }

  #act(call: Call, target: Target): Outcome | Promise<Outcome> {
    const { source, viewer } = call;
    const recorder = this.#receipts ? new ReceiptRecorder(call.options) : undefined;
    const options = recorder?.options ?? call.options;
    const args = this.#kind.args(call, target);
    let reply: Reply | Promise<Reply>;
    try {
      reply =
        source.actNow === undefined ? source.act(viewer, target.ref, args, options) : source.actNow(viewer, target.ref, args, options);
    } catch (error) {
      return this.#kind.fail(error, target);
    }
    return andThenElse(reply, this.#encode, this.#actFailed, call, target, recorder);
  }

  readonly #actFailed = (error: unknown, _call: Call, target: Target): Outcome => this.#kind.fail(error, target);

  readonly #encode = (reply: Reply, call: Call, target: Target, recorder: ReceiptRecorder | undefined): Outcome | Promise<Outcome> =>
    andThen(this.#outcome(reply, call, target), withReceipt, recorder?.receipt);

  #outcome(reply: Reply, call: Call, target: Target): Outcome | Promise<Outcome> {
    if (hasOwn(reply, "ok")) {
      const meta = metaIn(reply.ok);
      const members = this.#kind.encode(call, target, reply.ok);
      return meta === undefined ? { members } : { members, meta };
    }
    return hasOwn(reply, "needs") ? reply : this.#refused(reply.refused, call, target);
  }

  #refused(refusal: Refusal, call: Call, target: Target): Outcome | Promise<Outcome> {
    const { code } = refusal;
    if (code === CANNOT_ASK && (!this.#handlerErrors || eraOf(call.revision) === "modern")) {
      const missing = capabilitiesIn(refusal).filter((one) => !call.options.can.includes(one));
      // With nothing missing, an actor that this one called wanted to ask, and cannot reach the client.
      return missing.length === 0 ? this.#kind.refuse(refusal) : cannotAsk(call, missing);
    }
    // A listed resource that no longer exists is reported like an unknown URI.
    if (code === "UNKNOWN" || (code === "INVALID" && target.offer.listed === true)) return this.#unknown(call, target);
    const scopes = missingIn(refusal);
    if (scopes !== undefined) throw scopeFault(scopes, call.viewer.scopes);
    if (code === "INVALID_PARAMS") throw asFault("PARAMS", refusal);
    if (code === "URL_ELICITATION" && canOpenUrl(call)) throw asFault("URL_ELICITATION", refusal);
    return this.#refuse(call, target, refusal);
  }

  /** The source answers alike that the offer is hidden and that it names nothing. */
  #unknown(call: Call, target: Target): Promise<never> {
    const known = call.source.catalogue?.(call.viewer);
    // With nothing missing, so does the gateway.
    if (known !== undefined && known.missing === undefined) throw this.#kind.unknown(call, target);
    return this.#unknownNow(call, target);
  }

  async #unknownNow(call: Call, target: Target): Promise<never> {
    await this.#checkVisible(call, target, undefined);
    throw this.#kind.unknown(call, target);
  }

  #refuse(call: Call, target: Target, refusal: Refusal): Outcome {
    const hint = refusal.code === "INVALID" ? this.#kind.hint(call, target) : "";
    return this.#kind.refuse(hint === "" ? refusal : { ...refusal, message: refusal.message + hint });
  }

  #asTask(tasks: Tasks, call: Call, target: Target, surface: Surface | undefined): Outcome | Promise<Outcome> {
    const { task } = target.offer;
    try {
      if (has(call.revision, "tasks")) return this.#asLegacyTask(tasks, call, target);
      if (task === undefined) return this.#act(call, target);
      if (knowsTasks(call)) return tasks.begin(call, (one) => this.#act(one, target), target, task === "required");
      return task === "required" ? this.#unserved(call, target, surface) : this.#act(call, target);
    } catch (error) {
      return this.#failed(call, target, surface, error);
    }
  }

  /** In 2025-11-25 the client decides whether its call becomes a task. A wish for one is ignored where no tool is offered as one. */
  #asLegacyTask(tasks: Tasks, call: Call, target: Target): Outcome | Promise<Outcome> {
    const wanted = objectIn(call.params, "task");
    const { name, task } = target.offer;
    if (wanted === undefined && task === "required")
      throw new Fault("METHOD", `${name} takes its time: call it as a task, with params.task.`);
    if (wanted !== undefined && task !== undefined) return tasks.start(call, (one) => this.#act(one, target), target, wanted["ttl"]);
    if (wanted !== undefined && offersTasks(call.source.catalogue?.(call.viewer)))
      throw new Fault("METHOD", `${name} cannot be called as a task: leave params.task out.`);
    return this.#act(call, target);
  }

  /** The tool must be a task, and the client does not know tasks. */
  async #unserved(call: Call, target: Target, surface: Surface | undefined): Promise<Outcome> {
    await this.#checkVisible(call, target, surface);
    const message = `${target.offer.name} takes its time, and is for clients that declare ${TASKS}.`;
    if (eraOf(call.revision) === "modern") throw needsTasks(message);
    return this.#kind.refuse({ code: "CAPABILITY", message });
  }

  async #failed(call: Call, target: Target, surface: Surface | undefined, error: unknown): Promise<Outcome> {
    await this.#checkVisible(call, target, surface);
    throw error;
  }

  async #invalid(call: Call, target: Target, surface: Surface | undefined, invalid: ValidationError): Promise<Outcome> {
    await this.#checkVisible(call, target, surface);
    return this.#refuse(call, target, { code: "INVALID", ...invalid });
  }

  // Law 3: nothing is disclosed about a hidden offer, not even what it would take. Whether it may be used, the source decides again.
  async #checkVisible(call: Call, target: Target, known: Surface | undefined): Promise<void> {
    const { catalogue, off } = known ?? (await call.source.surface(call.viewer));
    if (off[target.ref] !== true) return;
    explainMissing(catalogue, () => {
      throw this.#kind.unknown(call, target);
    });
  }
}

function withReceipt(outcome: Outcome, receipt: Receipt | undefined): Outcome {
  if (receipt === undefined || hasOwn(outcome, "needs")) return outcome;
  const { actor, seq, head } = receipt;
  return { ...outcome, meta: { ...outcome.meta, [RECEIPT_META]: { actor, seq, head } } };
}

/** The `_meta` of an author's content. */
function metaIn(value: Json): JsonObject | undefined {
  return isContent(value) ? objectIn(value, "meta") : undefined;
}

function asFault(kind: "PARAMS" | "URL_ELICITATION", { message, data }: Refusal): Fault {
  return new Fault(kind, message, data === undefined ? undefined : { data });
}

/** Whether the client knows the error that sends its user to a page; others get the message as text. */
function canOpenUrl({ revision, options }: Call): boolean {
  return has(revision, "elicitationIds") && options.can.includes("elicitation.url");
}
