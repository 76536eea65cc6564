// Owns: the handlers of an actor capability as messages of its actor, and which handler takes a payload.
//   Does not own: what a handler receives (handler-context.ts).
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type Value, refuse } from "../../core/actor/index.ts";
import { type Clock, DEFAULT_POLICY, type Json, type JsonObject, TroupeError, isJsonObject } from "../../core/contract/index.ts";
import { setOwn } from "../../core/contract/internal.ts";
import { isStandard } from "../../core/schema/index.ts";
import { sameJson } from "../../mcp/source/index.ts";
import type { CapabilityTurn, CapabilityWork } from "./actor-state.ts";
import { ActorTimers, type ActorTimersOptions, expireMsIn, periodicMessage, RESERVED_PREFIX, TIMEOUT_MESSAGE } from "./actor-timers.ts";
import type { ActorTimes, Routed } from "./capability.ts";
import { asCallerError } from "./error-mapping.ts";
import { HandlerContext, WorkHandlerContext, parsePacketArgs } from "./handler-context.ts";
import { type PacketContext, PacketError } from "./packet.ts";
import { type CapabilityCalls, recordedServers } from "./recorded-calls.ts";
import type { Servers } from "./upstream-interface.ts";

/** Selects payloads: values that parts of the payload must equal, or a schema of the whole. */
export type Pattern = StandardSchemaV1 | JsonObject;

/** The payload as its handler receives it: the output of a schema, or a payload with the literal types of the pattern. */
export type PayloadOf<P> = P extends StandardSchemaV1<unknown, infer T> ? T : P extends object ? JsonObject & P : JsonObject;

/** Undefined: the payload does not match. */
type Matcher = (payload: JsonObject) => { readonly payload: unknown } | undefined;

/** Throws `BAD_DEFINITION` if the pattern can never match. */
export function matcher(pattern: object | undefined, where: string): Matcher {
  if (pattern === undefined) return (payload) => ({ payload });
  if (isStandard(pattern)) return bySchema(pattern, where);
  const parts = Object.entries(pattern);
  const schema = schemaIn(pattern);
  if (schema !== undefined)
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where}: \`match\` has a schema at ${schema}, within a part of the payload, where no payload can equal it: put one schema around the whole, as in match: z.looseObject({ … }).`,
    );
  if (!isJson(pattern))
    throw new TroupeError("BAD_DEFINITION", `${where}: \`match\` holds what no payload can: use JSON, or a schema for all else.`);
  if (parts.length === 0)
    throw new TroupeError("BAD_DEFINITION", `${where}: \`match\` names nothing. Leave it away for a handler that takes every payload.`);
  return (payload) =>
    parts.every(([name, part]) => Object.hasOwn(payload, name) && matchesPart(payload[name], part)) ? { payload } : undefined;
}

/** The path of a library's schema within a part of the pattern. */
function schemaIn(part: unknown): string | undefined {
  if (typeof part !== "object" || part === null) return undefined;
  for (const [name, inner] of Object.entries(part)) {
    if (isStandard(inner)) return name;
    const within = schemaIn(inner);
    if (within !== undefined) return `${name}.${within}`;
  }
  return undefined;
}

/** Objects match by the members that the pattern names; all other values must be equal. */
function matchesPart(value: Json | undefined, part: unknown): boolean {
  if (!isJsonObject(part) || !isJsonObject(value)) return value !== undefined && sameJson(value, part);
  return Object.entries(part).every(([name, inner]) => Object.hasOwn(value, name) && matchesPart(value[name], inner));
}

function bySchema(schema: StandardSchemaV1, where: string): Matcher {
  return (payload) => {
    const result = schema["~standard"].validate(payload);
    if ("then" in result) {
      // The error is reported below; the promise's own rejection is ignored.
      result.then(undefined, () => undefined);
      throw new TroupeError(
        "BAD_DEFINITION",
        `${where}: its schema validates asynchronously, or a check in it throws of this payload. Which message a payload is, is known at once.`,
      );
    }
    return result.issues === undefined ? { payload: result.value } : undefined;
  };
}

function isJson(part: unknown): boolean {
  if (Array.isArray(part)) return part.every(isJson);
  if (typeof part === "number") return Number.isFinite(part);
  if (typeof part !== "object" || part === null) return part === null || typeof part === "string" || typeof part === "boolean";
  return Object.prototype.toString.call(part) === "[object Object]" && Object.values(part).every(isJson);
}

/** A handler without the author's type parameters. */
export interface UntypedHandler {
  readonly match?: object;
  run?(context: HandlerContext): unknown;
  work?(context: WorkHandlerContext): Promise<unknown>;
  view?(context: {
    readonly state: unknown;
    readonly payload: unknown;
    readonly context: PacketContext;
    readonly metadata: ActorTimes;
  }): unknown;
}

export interface UntypedPeriodic {
  readonly everyMs: number;
  run(context: HandlerContext): unknown;
}

interface ActorHandlersOptions extends ActorTimersOptions {
  readonly messages: Readonly<Record<string, UntypedHandler>>;
  readonly periodic: Readonly<Record<string, UntypedPeriodic>>;
  readonly servers: Servers;
  readonly calls: CapabilityCalls;
  /** Measures how long recorded calls take. */
  readonly clock: Clock;
}

/** A message of an actor, as `actor()` takes it. */
type ActorMessage = { run(turn: CapabilityTurn): Value; work?: never } | { work(turn: CapabilityWork): Promise<Value>; run?: never };

interface Handler {
  readonly name: string;
  readonly match: Matcher;
  readonly handler: UntypedHandler;
}

/** The message that `troupe/begin` becomes. Its arguments: `expire_ms`, according to the chosen policy. */
export const BEGIN_MESSAGE = `${RESERVED_PREFIX}begin`;

/** The handlers of one capability. */
export class ActorHandlers {
  readonly #options: ActorHandlersOptions;
  readonly #handlers: readonly Handler[];
  readonly #timers: ActorTimers;

  constructor(options: ActorHandlersOptions) {
    this.#options = options;
    this.#handlers = Object.entries(options.messages).map(([name, handler]) => {
      checkHandler(options.id, name, handler);
      return { name, handler, match: matcher(handler.match, `${options.id}: messages.${name}`) };
    });
    for (const [name, { everyMs }] of Object.entries(options.periodic))
      if (!(Number.isFinite(everyMs) && everyMs >= DEFAULT_POLICY.minEveryMs))
        throw new TroupeError(
          "BAD_DEFINITION",
          `${options.id}: periodic.${name} needs \`everyMs\`, of at least ${DEFAULT_POLICY.minEveryMs} milliseconds.`,
        );
    this.#timers = new ActorTimers(options);
    if (this.#handlers.length === 0) throw new TroupeError("BAD_DEFINITION", `${options.id} takes no messages: name one.`);
  }

  /** The first message sets timers. */
  get hasTimers(): boolean {
    return this.#timers.fingerprint !== undefined;
  }

  /** The first handler in source order whose pattern matches. */
  route(payload: JsonObject): Routed | undefined {
    const found = this.#handlers.find(({ match }) => match(payload) !== undefined);
    return found && { action: found.name, reads: found.handler.view !== undefined };
  }

  /** Runs a `view` on a durable state (law 2). */
  read(action: string, state: Json, metadata: ActorTimes, payload: JsonObject, context: PacketContext): unknown {
    const found = this.#handlers.find(({ name }) => name === action);
    const matched = found?.match(payload);
    if (matched === undefined) return undefined;
    const result = found?.handler.view?.({ state, payload: matched.payload, context, metadata });
    const where = `${this.#options.id}: messages.${action}`;
    if (isPromise(result)) {
      // The error is reported below; the promise's own rejection is ignored.
      Promise.resolve(result).catch(() => undefined);
      throw new TroupeError("BAD_DEFINITION", `${where}: a \`view\` gave a promise. What waits is \`work\`.`);
    }
    return checkedValue(result, where);
  }

  messages(): Record<string, ActorMessage> {
    const messages: Record<string, ActorMessage> = {};
    for (const { name, handler, match } of this.#handlers) {
      const message = this.#message(name, handler, match);
      if (message !== undefined) setOwn(messages, name, message);
    }
    for (const [name, periodic] of Object.entries(this.#options.periodic))
      messages[periodicMessage(name)] = {
        run: (turn) => {
          this.#timers.sync(turn);
          const result = periodic.run(new HandlerContext(turn, null, {}, { ...turn.state.metadata }));
          return isPromise(result) ? result : undefined;
        },
      };
    messages[BEGIN_MESSAGE] = { run: (turn) => void this.#timers.sync(turn, expireMsIn(turn.args)) };
    messages[TIMEOUT_MESSAGE] = { run: (turn) => this.#timers.onTimeout(turn) };
    return messages;
  }

  #message(name: string, handler: UntypedHandler, match: Matcher): ActorMessage | undefined {
    const { id, servers, clock, calls } = this.#options;
    if (handler.run !== undefined)
      return {
        run: (turn) => {
          const { payload, context, metadata } = this.#beginMessage(name, match, turn);
          try {
            return this.#endMessage(turn, handler.run?.(new HandlerContext(turn, payload, context, metadata)));
          } catch (error) {
            throw toRefusal(error);
          }
        },
      };
    if (handler.work === undefined) return undefined;
    return {
      work: async (turn) => {
        const { payload, context, metadata } = this.#beginMessage(name, match, turn);
        const { record, signal, progress } = turn;
        const mcp = recordedServers(servers, clock, { record, signal, progress });
        try {
          return this.#endMessage(turn, await handler.work?.(new WorkHandlerContext(turn, payload, context, metadata, mcp, calls)));
        } catch (error) {
          throw toRefusal(error instanceof PacketError ? asCallerError(id, error) : error);
        }
      },
    };
  }

  #beginMessage(
    name: string,
    match: Matcher,
    turn: CapabilityTurn,
  ): { readonly payload: unknown; readonly context: PacketContext; readonly metadata: ActorTimes } {
    const { payload, context } = parsePacketArgs(turn.args);
    const matched = match(payload);
    if (matched === undefined) return refuse(`No message "${name}" of ${this.#options.id} is like that.`, { code: "UNKNOWN" });
    this.#timers.sync(turn);
    const { metadata } = turn.state;
    const { created_at, last_message_at, message_count } = metadata;
    const before = { created_at, last_message_at, message_count };
    metadata.message_count = message_count + 1;
    metadata.last_message_at = turn.now;
    return { payload: matched.payload, context, metadata: before };
  }

  #endMessage(turn: CapabilityTurn, result: unknown): Value {
    if (isPromise(result)) return result;
    this.#timers.updateTimeout(turn);
    return checkedValue(result, this.#options.id);
  }
}

/** A `PacketError` is a refusal, not a crash. As a refusal its type reaches the caller through any engine. */
function toRefusal(error: unknown): unknown {
  return error instanceof PacketError ? refuse(error.message, { code: error.type, data: error.details }) : error;
}

/** `actor()` reports a promise that a turn returns, so it is passed on unchanged. */
const isPromise = (value: unknown): value is object => typeof value === "object" && value !== null && "then" in value;

/** Throws `BAD_DEFINITION` for a value that JSON cannot hold: dropping it would send an empty reply. */
function checkedValue(result: unknown, where: string): Value {
  if (isValue(result)) return result;
  throw new TroupeError("BAD_DEFINITION", `${where} gave a ${typeof result}, which no reply can hold: return JSON.`);
}

const isValue = (value: unknown): value is Value => ["string", "number", "boolean", "undefined", "object"].includes(typeof value);

function checkHandler(id: string, name: string, handler: UntypedHandler): void {
  const where = `${id}: messages.${name}`;
  if ([handler.run !== undefined, handler.work !== undefined, handler.view !== undefined].filter(Boolean).length !== 1)
    throw new TroupeError("BAD_DEFINITION", `${where} needs one of \`run\` (a turn), \`work\` (what waits) and \`view\` (a read).`);
  if (name.startsWith(RESERVED_PREFIX))
    throw new TroupeError("BAD_NAME", `${where}: names with "${RESERVED_PREFIX}" are Troupe's own: use another.`);
}
