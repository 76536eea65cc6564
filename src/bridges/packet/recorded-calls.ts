import {
  type Clock,
  type Json,
  type JsonObject,
  type Outgoing,
  type Reply,
  TroupeError,
  type Viewer,
  isJsonObject,
  isList,
} from "../../core/contract/index.ts";
import type { ForeignServer } from "./capability.ts";
import { fromNested, reasonOf } from "./error-mapping.ts";
import { type PacketContext, PacketError } from "./packet.ts";
import type { Running } from "./running.ts";
import type { ForeignCaller } from "./upstream-server.ts";
import type { ForeignServers } from "./upstream-servers.ts";

/** Of arguments and of a result, as JSON: what is more is left out of the record. */
const MAX_VALUE_BYTES = 16_384;
/** Characters of a text that stays in a value which is too much as a whole. */
const MAX_TEXT_CHARS = 256;

export interface Recording {
  readonly clock: Clock;
  /** The turn's own: several records make a list in its event. */
  readonly record: (what: unknown) => void;
}

/** A call that an actor's work makes; it is kept in the event of the turn: `{ [sort]: { …about, result | error, ms } }`. */
async function recordCall<T>(
  { clock, record }: Recording,
  sort: "mcp" | "request",
  about: JsonObject,
  call: () => Promise<T>,
  recordedPart: (result: T) => Json,
): Promise<T> {
  const startedAt = clock.now();
  const recordOutcome = (end: { readonly result: Json } | { readonly error: Json }): void =>
    record({ [sort]: { ...about, ...end, ms: clock.now() - startedAt } });
  let result: T;
  try {
    result = await call();
  } catch (error) {
    recordOutcome({ error: { type: error instanceof PacketError ? error.type : "execution_failed", message: reasonOf(error) } });
    throw error;
  }
  recordOutcome({ result: toRecordable(recordedPart(result)) });
  return result;
}

/** Whole texts only: redaction finds a secret by all of it, and would miss one that was cut. */
function toRecordable(value: Json): Json {
  const whole = JSON.stringify(value);
  const bytes = Buffer.byteLength(whole);
  if (bytes <= MAX_VALUE_BYTES) {
    const copy: Json = JSON.parse(whole);
    return copy;
  }
  const shorter = withoutLongTexts(value);
  return Buffer.byteLength(JSON.stringify(shorter)) <= MAX_VALUE_BYTES ? shorter : { omitted: bytes };
}

function withoutLongTexts(value: Json): Json {
  if (typeof value === "string") return value.length <= MAX_TEXT_CHARS ? value : { omitted: value.length };
  if (isList(value)) return value.map(withoutLongTexts);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutLongTexts(one)]));
}

/** Another capability, as a packet of the actor's own user: throws `PacketError`. */
export type RequestCapability = (capabilityId: string, payload: JsonObject, options?: { readonly actor_id?: string }) => Promise<Json>;

/** The work that asks. */
export interface CallingWork {
  /** Whose its actor is; of everybody's, who asks. */
  readonly viewer: Viewer;
  readonly context: PacketContext;
  readonly signal: AbortSignal;
  readonly record: (what: unknown) => void;
  /** The engine's, by which it knows who waits for whom. */
  readonly call: (message: Outgoing) => Promise<Reply>;
}

/** How the handlers of one capability ask others: by the flow that runs it, which is made after it. */
export class CapabilityCalls {
  readonly #id: string;
  readonly #clock: Clock;
  #run: Running["run"] | undefined;

  constructor(id: string, clock: Clock) {
    this.#id = id;
    this.#clock = clock;
  }

  bind(run: Running["run"]): void {
    this.#run = run;
  }

  requestFor({ viewer, context, signal, record, call }: CallingWork): RequestCapability {
    return async (capabilityId, payload, { actor_id } = {}) => {
      const run = this.#run;
      if (run === undefined)
        throw new TroupeError(
          "BAD_DEFINITION",
          `${this.#id} asks for ${capabilityId}, and no flow runs it: start the engine with the \`kinds\` of the Capabilities that PacketFlow is given.`,
        );
      if (signal.aborted) throw new PacketError("cancelled", `This work of ${this.#id} is over: await what it asks for.`);
      const { user_id: _another, ...rest } = context;
      const how = {
        viewer,
        context: { ...rest, ...(viewer.principal !== undefined && { user_id: viewer.principal }) },
        signal,
        through: call,
        ...(actor_id !== undefined && { actor_id }),
      };
      return await recordCall(
        { clock: this.#clock, record },
        "request",
        { capability_id: capabilityId, ...(actor_id !== undefined && { actor_id }), payload: toRecordable(payload) },
        () => fromNested(capabilityId, async () => (await run(capabilityId, payload, how)).result),
        (result) => result,
      );
    };
  }
}

export interface ServerRecording extends Recording {
  /** The server's name in the configuration. */
  readonly server: string;
}

/** Servers by name as an actor's work calls them: each call ends with the work, tells its progress, and is kept in its event. */
export const recordedServers =
  (servers: Pick<ForeignServers, "get">, clock: Clock, { record, ...caller }: ForeignCaller & Pick<Recording, "record">) =>
  (server: string): ForeignServer =>
    recordedServer(servers.get(server, caller), { server, clock, record });

/** The same server; each call is kept in the event of the turn that made it: `{ mcp: { server, tool, args, result | error, ms } }`. */
export function recordedServer(foreign: ForeignServer, { server, ...recording }: ServerRecording): ForeignServer {
  return {
    tools: () => foreign.tools(),
    call: (tool, args = {}) =>
      recordCall(
        recording,
        "mcp",
        // As they are now: the author may change them while the call is under way.
        { server, tool, args: toRecordable(args) },
        () => foreign.call(tool, args),
        // `text` says the same once more.
        ({ content, structured }) => (structured === undefined ? { content } : { content, structured }),
      ),
  };
}
