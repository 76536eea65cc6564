// Owns: running a capability: payload check, execution or message to its actor, result check, effects.
//   Does not own: actors (actors.ts), packets (packet-session.ts).
import {
  type Clock,
  EngineError,
  type Entropy,
  type Json,
  type JsonObject,
  abortSignalOf,
  untilAborted,
} from "../../core/contract/index.ts";
import { loggable, omitUndefined } from "../../core/contract/internal.ts";
import type { Actors } from "./actors.ts";
import { type Capabilities, registeredCapability } from "./capabilities.ts";
import type { Acts, Capability, Emitted, Executes, ExecutionContext, Offers, Ran, RunOptions } from "./capability.ts";
import { fromNested, asCallerError, refusalIn, validError } from "./error-mapping.ts";
import { defaultActorId } from "./visible-actors.ts";
import { type PacketContext, PacketError, type PacketErrorType } from "./packet.ts";
import { jsonCopy, payloadCopy } from "./packet-json.ts";
import { checkArguments, checkPayload, missingFields } from "./capability-contract.ts";
import type { Servers } from "./upstream-interface.ts";

interface RunningHost {
  readonly capabilities: Capabilities;
  readonly actors: Actors;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly servers: Servers;
  /** Limit for capabilities without an actor. */
  readonly timeoutMs: number;
  /** A clock in milliseconds, for durations. */
  readonly elapsed: () => number;
  readonly emitted: (emitted: Emitted) => void;
  /** Reports internal failures that the caller did not cause. Crashes of actors are reported by their engine. */
  readonly fault: (error: unknown, about: { readonly capability_id: string; readonly trace_id: string }) => void;
}

const SERVER_FAULTS: ReadonlySet<PacketErrorType> = new Set(["persistence_failed", "contract_violation"]);

/** Limit on nested calls between capabilities. */
const MAX_NESTING = 16;

/** Runs capabilities: checks the payload, runs, checks the result, emits effects. */
export class Running {
  readonly #host: RunningHost;
  constructor(host: RunningHost) {
    this.#host = host;
  }

  /** Throws `PacketError`. */
  async run(capabilityId: string, payload: JsonObject, options: RunOptions): Promise<Ran> {
    return await this.#run(registeredCapability(this.#host.capabilities, capabilityId), payload, options, 0);
  }

  async #run(capability: Capability, payload: JsonObject, options: RunOptions, depth: number): Promise<Ran> {
    const { elapsed } = this.#host;
    const trace_id = options.context.trace_id ?? this.#host.entropy.hex(16);
    const context: PacketContext = { ...options.context, trace_id };
    const { id, does } = capability;
    const from = elapsed();
    let actor_id: string | undefined;
    try {
      let ran: { readonly result: Json; readonly message_count?: number };
      if (does.how === "actor") {
        // Its payload is checked with its message.
        actor_id = options.actor_id ?? defaultActorFor(id, does, options);
        if (actor_id !== undefined) options.onActor?.(actor_id);
        ran = await this.#host.actors.requestFromActor(id, actor_id, payload, {
          ...options,
          context,
          ...(options.actor_options && { options: options.actor_options }),
        });
      } else {
        checkPayload(capability, payload);
        if (options.actorOnly === true) throw new PacketError("validation_failed", `${id} has no actors: send it a capability_request.`);
        ran = { result: await this.#execute(id, does, payload, options, context, depth) };
      }
      checkProvides(capability, ran.result);
      const took = elapsed() - from;
      const actor = omitUndefined({ actor_id });
      this.#emitEffects(capability, options, { ...actor, trace_id, took });
      return { ...ran, ...actor, execution_time_ms: took, trace_id };
    } catch (error) {
      const about = { capability_id: id, trace_id };
      const known = error instanceof PacketError ? asCallerError(id, error) : refusalIn(error);
      if (known === undefined || SERVER_FAULTS.has(known.type)) this.#host.fault(error, about);
      else if (isViewFailure(capability, known)) this.#host.fault(known.cause, about);
      const thrown = known ?? new PacketError("execution_failed", `${id} failed.`, {}, { cause: error });
      const failure = this.#serializable(validError(thrown), about);
      this.#emitEffects(capability, options, { ...omitUndefined({ actor_id }), trace_id, took: elapsed() - from, error: failure.type });
      throw failure;
    }
  }

  /** An author's `details` may not be JSON. Then the error is sent without them. */
  #serializable(error: PacketError, about: Parameters<RunningHost["fault"]>[1]): PacketError {
    try {
      JSON.stringify(error.details);
      return error;
    } catch (cause) {
      this.#host.fault(cause, about);
      return new PacketError(error.type, error.message, {}, { cause: error });
    }
  }

  async #execute(
    id: string,
    does: Executes | Offers,
    payload: JsonObject,
    options: RunOptions,
    context: PacketContext,
    depth: number,
  ): Promise<Json> {
    const { clock, entropy, timeoutMs, servers } = this.#host;
    const mostMs = Math.min(timeoutMs, options.timeoutMs ?? Number.POSITIVE_INFINITY);
    const timeout = new AbortController();
    const undo = clock.after(mostMs, () => timeout.abort());
    const signal = options.signal === undefined ? timeout.signal : AbortSignal.any([timeout.signal, abortSignalOf(options.signal)]);
    const trace_id = context.trace_id ?? "";
    // After the reply or a timeout the function may still run; its progress, logs and calls are then ignored or refused.
    let isFinished = false;
    const executionContext: ExecutionContext = {
      capability_id: id,
      execution_id: entropy.hex(16),
      trace_id,
      user_id: options.viewer.principal,
      session_id: context.session_id,
      now: clock.now(),
      viewer: options.viewer,
      signal,
      progress: (...how) => void (isFinished || options.onProgress?.(...how)),
      log: (level, data, ...logger) => void (isFinished || options.onLog?.(level, loggable(data), ...logger)),
      call: async (capabilityId, inner, { actor_id } = {}) => {
        if (isFinished) throw new PacketError("cancelled", `${id} is over: await what it calls.`);
        if (depth + 1 >= MAX_NESTING)
          throw new PacketError("execution_failed", `Capabilities call one another ${MAX_NESTING} deep: ${id} does not call on.`);
        return await fromNested(capabilityId, async () => {
          const ran = await this.#run(
            registeredCapability(this.#host.capabilities, capabilityId),
            payloadCopy(inner),
            { viewer: options.viewer, context, signal, ...omitUndefined({ through: options.through, actor_id, peer: options.peer }) },
            depth + 1,
          );
          return ran.result;
        });
      },
      mcp: (name) => servers.get(name, { signal, ...omitUndefined({ progress: options.onProgress }) }),
    };
    try {
      if (does.how === "tools") {
        const { tool, parameters } = payload;
        const offered = does.tools.find(({ name }) => name === tool);
        if (offered === undefined)
          throw new PacketError(
            "no_handler",
            `${id} has no tool ${JSON.stringify(tool ?? null)}: name one of ${does.tools.map(({ name }) => name).join(", ")} as "tool".`,
          );
        const args = checkArguments(offered, parameters);
        return resultJson(await untilAborted(signal, () => does.handle(offered.name, args, executionContext)));
      }
      return resultJson(await untilAborted(signal, () => does.execute(payload, executionContext)));
    } catch (error) {
      if (timeout.signal.aborted)
        throw new PacketError(
          "execution_failed",
          `${id} did not end within ${mostMs} ms and was given up.`,
          { timeout_ms: mostMs },
          { cause: error },
        );
      if (options.signal?.aborted === true) throw new PacketError("cancelled", `${id} was cancelled.`, {}, { cause: error });
      throw error;
    } finally {
      isFinished = true;
      undo();
    }
  }

  #emitEffects(
    { id, effects }: Capability,
    { viewer }: RunOptions,
    {
      actor_id,
      trace_id,
      took,
      error,
    }: { readonly actor_id?: string; readonly trace_id: string; readonly took: number; readonly error?: string },
  ): void {
    const at = this.#host.clock.now();
    for (const effect of effects)
      this.#host.emitted({
        effect,
        capability_id: id,
        trace_id,
        at,
        duration_ms: took,
        value: effect.effect === "metric" && effect.metric === "histogram" ? took : 1,
        ...omitUndefined({ actor_id, user_id: viewer.principal, error }),
      });
  }
}

/** Failures of a turn are reported by the engine; a read has no turn. */
const isViewFailure = ({ does }: Capability, { type, cause }: PacketError): boolean =>
  does.how === "actor" &&
  type === "execution_failed" &&
  cause !== undefined &&
  !(cause instanceof EngineError || cause instanceof PacketError);

function checkProvides({ id, provides }: Capability, result: Json): void {
  const missing = missingFields(provides, result);
  if (missing.length > 0)
    throw new PacketError("contract_violation", `${id} did not give what it promises: ${missing.join(", ")}.`, { missing });
}

function defaultActorFor(id: string, { defaultKey }: Acts, { viewer, context }: RunOptions): string | undefined {
  if (defaultKey !== undefined) return defaultKey(viewer);
  const whose = viewer.principal ?? context.session_id;
  if (whose === undefined)
    throw new PacketError("validation_failed", "Which actor is meant? Name one as actor_id, or send user_id or session_id in the context.");
  return defaultActorId(id, whose);
}

/** The returned value as JSON; undefined becomes null. Throws `execution_failed` if JSON cannot hold it. */
function resultJson(value: unknown): Json {
  const copy = jsonCopy(value);
  if (copy !== undefined || value === undefined) return copy ?? null;
  throw new PacketError("execution_failed", "It returned what JSON cannot hold: text, numbers, lists and plain objects can be.");
}
