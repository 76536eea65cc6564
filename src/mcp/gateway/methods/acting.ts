import { type Bag, type Catalogue, type Json, type Receipt, type Reply, type Surface } from "../../../core/contract/index.ts";
import { isContent } from "../../../core/contract/internal.ts";
import type { Complaint } from "../arguments.ts";
import { type Call, type Method, type Outcome, RECEIPT_META, type Refusal } from "../call.ts";
import { Fault } from "../errors.ts";
import { bagIn } from "../json.ts";
import { orMissing } from "../missing.ts";
import { indexOf, type Target } from "../offers.ts";
import { eraOf, has } from "../revision.ts";
import { demand, missingIn, scopeFault } from "../scopes.ts";
import { CANNOT_ASK, cannotAsk, capabilitiesIn } from "./cannot-ask.ts";
import type { Settings } from "../settings.ts";
import { knowsTasks, needsTasks, offersTasks, type Tasks, TASKS } from "../modern/tasks.ts";
import { type Kind, prompt, resource, tool, withHandlerErrors } from "./kinds.ts";
import { hasOwn } from "../../../core/contract/internal.ts";

/** `tools/call`, `resources/read` and `prompts/get` go the same way: resolve, check (scope, arguments), act, encode. */
class Acting {
  readonly #kind: Kind;
  readonly #receipts: boolean;
  readonly #handlerErrors: boolean;
  /** Absent: whatever a tool says, everybody waits. */
  readonly #tasks: Tasks | undefined;

  constructor(kind: Kind, { receipts, profile }: Settings, tasks?: Tasks) {
    this.#tasks = tasks;
    this.#kind = profile.handlerErrors ? withHandlerErrors(kind) : kind;
    this.#receipts = receipts;
    this.#handlerErrors = profile.handlerErrors;
  }

  readonly method: Method = (call) => {
    const catalogue = call.source.catalogue?.(call.viewer);
    if (catalogue !== undefined && catalogue.missing === undefined)
      return this.#perform(call, this.#kind.target(call, indexOf(catalogue)), undefined);
    const known = catalogue && this.#known(call, catalogue);
    if (known !== undefined) return this.#perform(call, known, undefined);
    return this.#onSurface(call);
  };

  // What closes over its call is apart from the common way: it would be put on the heap each time.
  #onSurface(call: Call): Outcome | Promise<Outcome> {
    const resolved = (surface: Surface): Outcome | Promise<Outcome> => {
      const target = orMissing(surface.catalogue, () => this.#kind.target(call, indexOf(surface.catalogue)));
      return this.#perform(call, target, surface);
    };
    const surface = call.source.surface(call.viewer);
    return surface instanceof Promise ? surface.then(resolved) : resolved(surface);
  }

  // Not there may be at a source that was missing when it was asked last: the surface asks it again.
  #known(call: Call, catalogue: Catalogue): Target | undefined {
    try {
      return this.#kind.target(call, indexOf(catalogue));
    } catch {
      return undefined;
    }
  }

  #perform(call: Call, target: Target, surface: Surface | undefined): Outcome | Promise<Outcome> {
    let complaint: Complaint | undefined;
    try {
      demand(target.scopes, call.viewer.scopes);
      complaint = this.#kind.complain(call, target);
    } catch (error) {
      return this.#thrown(call, target, surface, error);
    }
    if (complaint !== undefined) return this.#refused(call, target, surface, complaint);
    const isTask = this.#tasks !== undefined && (target.offer.task !== undefined || call.params["task"] !== undefined);
    return isTask ? this.#asTask(this.#tasks, call, target, surface) : this.#act(call, target);
  }

  #asTask(tasks: Tasks, call: Call, target: Target, surface: Surface | undefined): Outcome | Promise<Outcome> {
    if (has(call.revision, "tasks")) return this.#asLegacyTask(tasks, call, target, surface);
    if (target.offer.task === undefined) return this.#act(call, target);
    const isRequired = target.offer.task === "required";
    if (!knowsTasks(call)) return isRequired ? this.#unserved(call, target, surface) : this.#act(call, target);
    try {
      return tasks.begin(call, (one) => this.#act(one, target), target, isRequired);
    } catch (error) {
      return this.#thrown(call, target, surface, error);
    }
  }

  /** In 2025-11-25 the client decides whether its call becomes a task. What neither side has declared is ignored. */
  #asLegacyTask(tasks: Tasks, call: Call, target: Target, surface: Surface | undefined): Outcome | Promise<Outcome> {
    const wanted = bagIn(call.params, "task");
    const { name, task } = target.offer;
    try {
      if (wanted === undefined && task === "required")
        throw new Fault("METHOD", `${name} takes its time: call it as a task, with params.task.`);
      if (wanted !== undefined && task !== undefined) return tasks.start(call, (one) => this.#act(one, target), target, wanted["ttl"]);
      const catalogue = wanted && call.source.catalogue?.(call.viewer);
      if (catalogue !== undefined && offersTasks(catalogue))
        throw new Fault("METHOD", `${name} cannot be called as a task: leave params.task out.`);
      return this.#act(call, target);
    } catch (error) {
      return this.#thrown(call, target, surface, error);
    }
  }

  async #unserved(call: Call, target: Target, surface: Surface | undefined): Promise<Outcome> {
    await this.#checkShown(call, target, surface);
    const message = `${target.offer.name} takes its time, and is for clients that declare ${TASKS}.`;
    if (eraOf(call.revision) === "modern") throw needsTasks(message);
    return this.#kind.refuse({ code: "CAPABILITY", message });
  }

  async #thrown(call: Call, target: Target, surface: Surface | undefined, error: unknown): Promise<Outcome> {
    await this.#checkShown(call, target, surface);
    throw error;
  }

  async #refused(call: Call, target: Target, surface: Surface | undefined, complaint: Complaint): Promise<Outcome> {
    await this.#checkShown(call, target, surface);
    return this.#refuse(call, target, { code: "INVALID", ...complaint });
  }

  // Law 3: of what is hidden nothing is told, not even what it would take. Whether it may be done, the source decides again.
  async #checkShown(call: Call, target: Target, known: Surface | undefined): Promise<void> {
    const { off } = known ?? (await call.source.surface(call.viewer));
    if (off[target.ref] === true) throw this.#kind.unknown(call, target);
  }

  #act(call: Call, target: Target): Outcome | Promise<Outcome> {
    const { source, viewer } = call;
    const kept = this.#receipts ? new KeptReceipt() : undefined;
    const options = kept === undefined ? call.options : { ...call.options, onReceipt: kept.keep };
    const args = this.#kind.args(call, target);
    let reply: Reply | Promise<Reply>;
    try {
      reply =
        source.actNow === undefined ? source.act(viewer, target.ref, args, options) : source.actNow(viewer, target.ref, args, options);
    } catch (error) {
      return this.#kind.fail(error, target);
    }
    return reply instanceof Promise ? this.#toldLater(call, target, reply, kept) : this.#told(call, target, reply, kept);
  }

  #toldLater(call: Call, target: Target, reply: Promise<Reply>, kept: KeptReceipt | undefined): Promise<Outcome> {
    return reply.then(
      (one) => this.#told(call, target, one, kept),
      (error: unknown) => this.#kind.fail(error, target),
    );
  }

  #told(call: Call, target: Target, reply: Reply, kept: KeptReceipt | undefined): Outcome {
    return withReceipt(this.#encode(call, target, reply), kept?.receipt);
  }

  #encode(call: Call, target: Target, reply: Reply): Outcome {
    const kind = this.#kind;
    if (hasOwn(reply, "ok")) {
      const meta = metaIn(reply.ok);
      const members = kind.encode(call, target, reply.ok);
      return meta === undefined ? { members } : { members, meta };
    }
    if (hasOwn(reply, "needs")) return reply;
    if (reply.refused.code === CANNOT_ASK && (!this.#handlerErrors || eraOf(call.revision) === "modern")) {
      const missing = capabilitiesIn(reply.refused).filter((one) => !call.options.can.includes(one));
      // Nothing is missing here: another actor was asked on the way, which cannot reach the client.
      return missing.length === 0 ? kind.refuse(reply.refused) : cannotAsk(call, missing);
    }
    // Of what is listed by its URI, and has gone since, that was all its reader wrote.
    if (reply.refused.code === "UNKNOWN" || (reply.refused.code === "INVALID" && target.offer.listed === true))
      throw kind.unknown(call, target);
    const scopes = missingIn(reply.refused);
    if (scopes !== undefined) throw scopeFault(scopes, call.viewer.scopes);
    if (reply.refused.code === "INVALID_PARAMS") throw asFault("PARAMS", reply.refused);
    if (reply.refused.code === "URL_ELICITATION" && canOpen(call)) throw asFault("URL_ELICITATION", reply.refused);
    return this.#refuse(call, target, reply.refused);
  }

  #refuse(call: Call, target: Target, refusal: Refusal): Outcome {
    const hint = refusal.code === "INVALID" ? this.#kind.hint(call, target) : "";
    return this.#kind.refuse(hint === "" ? refusal : { ...refusal, message: refusal.message + hint });
  }
}

/** What a call's commit was, for results that say so. */
class KeptReceipt {
  receipt: Receipt | undefined;
  readonly keep = (receipt: Receipt): void => {
    this.receipt = receipt;
  };
}

/** What an author's content says of itself beside its blocks. */
function metaIn(value: Json): Bag | undefined {
  return isContent(value) ? bagIn(value, "meta") : undefined;
}

function asFault(kind: "PARAMS" | "URL_ELICITATION", { message, data }: Refusal): Fault {
  return new Fault(kind, message, data === undefined ? undefined : { data });
}

/** Whether the client knows the error that sends its person to a page: others are told in words. */
function canOpen({ revision, options }: Call): boolean {
  return has(revision, "elicitationIds") && options.can.includes("elicitation.url");
}

function withReceipt(outcome: Outcome, receipt: Receipt | undefined): Outcome {
  if (receipt === undefined || hasOwn(outcome, "needs")) return outcome;
  const { actor, seq, head } = receipt;
  return { ...outcome, meta: { ...outcome.meta, [RECEIPT_META]: { actor, seq, head } } };
}

/** The acting methods; `receipts` says whether their results carry one, `handlerErrors` whether what fails is an error of a tool, too. */
export function actingMethods(
  settings: Settings,
  tasks?: Tasks,
): Readonly<Record<"tools/call" | "resources/read" | "prompts/get", Method>> {
  const of = (kind: Kind): Method => new Acting(kind, settings).method;
  return { "tools/call": new Acting(tool, settings, tasks).method, "resources/read": of(resource), "prompts/get": of(prompt) };
}
