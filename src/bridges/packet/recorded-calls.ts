// Owns: calls that an actor's work makes to other capabilities and tool servers, recorded in the event of its turn.
//   Does not own: running capabilities (running.ts), connections to tool servers (upstream-servers.ts).
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
import { omitUndefined } from "../../core/contract/internal.ts";
import type { RunCapability } from "./capability.ts";
import { fromNested, reasonOf } from "./error-mapping.ts";
import { payloadCopy } from "./packet-json.ts";
import { type PacketContext, PacketError } from "./packet.ts";
import type { ForeignCaller, ForeignServer, ForeignServers } from "./upstream-interface.ts";

/** Longest arguments or result in a record, as JSON. */
const MAX_VALUE_BYTES = 16_384;
/** Longest text kept in a value that exceeds that size. */
const MAX_TEXT_CHARS = 256;

interface Recording {
  readonly clock: Clock;
  /** The turn's own `record`: several records become a list in the event. */
  readonly record: (what: unknown) => void;
}

/** Makes a call and records it in the event of the turn: `{ [sort]: { …about, result | error, ms } }`. */
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

/** Omits whole texts instead of cutting them: redaction recognises a secret only by its full text. */
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

/** Calls another capability as the actor's owner. Throws `PacketError`. */
export type RequestCapability = (capabilityId: string, payload: JsonObject, options?: { readonly actor_id?: string }) => Promise<Json>;

/** The work that makes a call. */
interface CallingWork {
  /** The owner of its actor; of a shared actor, the caller. */
  readonly viewer: Viewer;
  readonly context: PacketContext;
  readonly signal: AbortSignal;
  readonly record: (what: unknown) => void;
  /** The engine's call, which detects actors that wait for each other. */
  readonly call: (message: Outgoing) => Promise<Reply>;
}

/** Calls of one capability's handlers to other capabilities. The flow that runs them is created later and bound then. */
export class CapabilityCalls {
  readonly #id: string;
  readonly #clock: Clock;
  #run: RunCapability | undefined;

  constructor(id: string, clock: Clock) {
    this.#id = id;
    this.#clock = clock;
  }

  bind(run: RunCapability): void {
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
      const sent = await fromNested(capabilityId, async () => payloadCopy(payload));
      const { user_id: _another, ...rest } = context;
      const how = {
        viewer,
        context: { ...rest, ...(viewer.principal !== undefined && { user_id: viewer.principal }) },
        signal,
        through: call,
        ...omitUndefined({ actor_id }),
      };
      return await recordCall(
        { clock: this.#clock, record },
        "request",
        { capability_id: capabilityId, ...omitUndefined({ actor_id }), payload: toRecordable(sent) },
        () => fromNested(capabilityId, async () => (await run(capabilityId, sent, how)).result),
        (result) => result,
      );
    };
  }
}

interface ServerRecording extends Recording {
  /** The server's name in the configuration. */
  readonly server: string;
}

/** Tool servers by name, for an actor's work. Calls end with the work, report progress to it, and are recorded in its event. */
export const recordedServers =
  (servers: Pick<ForeignServers, "get">, clock: Clock, { record, ...caller }: ForeignCaller & Pick<Recording, "record">) =>
  (server: string): ForeignServer =>
    recordedServer(servers.get(server, caller), { server, clock, record });

/** The same server, with each call recorded in the event of the turn: `{ mcp: { server, tool, args, result | error, ms } }`. */
export function recordedServer(foreign: ForeignServer, { server, ...recording }: ServerRecording): ForeignServer {
  return {
    tools: () => foreign.tools(),
    call: (tool, args = {}) =>
      recordCall(
        recording,
        "mcp",
        // Copied now, since the author may change them during the call.
        { server, tool, args: toRecordable(args) },
        () => foreign.call(tool, args),
        // `text` repeats the text blocks of `content`.
        ({ content, structured }) => (structured === undefined ? { content } : { content, structured }),
      ),
  };
}
