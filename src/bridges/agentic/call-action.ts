// Owns: one call of an action: confirmation, deadline, and its result as a reply. Does not own: which actions there are and the
// validation of arguments (service-source.ts).
import {
  type CallOptions,
  type Clock,
  CONTENT,
  EngineError,
  isJsonObject,
  type Json,
  type JsonObject,
  type OfferRef,
  type Reply,
} from "../../core/contract/index.ts";
import { inWords } from "../../core/contract/internal.ts";
import type { Action, AgenticService } from "./agentic-service.ts";
import { bytesOf, dataReply, isTrustedContent, jsonWithBlobs, MAX_VALUE_LENGTH, readBlob, toBase64, withBlobs } from "./json-values.ts";
import type { Signature } from "./parameters.ts";
import { callerMessage } from "./service-faults.ts";
import type { ActionOptions } from "./service-options.ts";

/** An action that can be called now. */
export interface Callable {
  readonly ref: OfferRef;
  /** The keys of the links from the root to its service. */
  readonly path: readonly string[];
  readonly key: string;
  readonly action: Action;
  readonly service: AgenticService;
  readonly signature: Signature;
  readonly options: ActionOptions | undefined;
}

export interface CallSettings {
  readonly clock: Clock;
  readonly callMs: number;
  readonly text: "error" | "data";
  /** The prefix of the service's URIs. */
  readonly root: string;
}

// The reply of an action that returns nothing. Clients expect a content block and an explicit success.
export const DONE: Json = { [CONTENT]: [{ type: "text", text: "" }], isError: false };

/**
 * Runs an action with validated arguments. Throws `CRASHED` with the message of what the action threw, or why its result cannot be
 * converted to JSON; `STATE_TOO_LARGE`, `WORK_TIMEOUT`, `CANCELLED`.
 */
export async function callAction(callable: Callable, args: JsonObject, options: CallOptions, settings: CallSettings): Promise<Reply> {
  const input = callable.signature.input(args);
  if ("wrong" in input) return { refused: { code: "INVALID", message: input.wrong } };
  const unconfirmed = confirmFirst(callable, args, options);
  if (unconfirmed !== undefined) return unconfirmed;
  return withDeadline(callable, run(callable, input.values, settings), options, settings);
}

async function run(callable: Callable, input: readonly unknown[], { text, root }: CallSettings): Promise<Reply> {
  const result = await resultOf(callable, input);
  if (result === undefined) return { ok: DONE };
  if (typeof result === "string" && text === "error")
    return { refused: { code: "REFUSED", message: result.slice(0, MAX_VALUE_LENGTH).toWellFormed() } };
  try {
    const bytes = result instanceof Blob ? await readBlob(result) : bytesOf(result);
    if (bytes === undefined) {
      const plain = await withBlobs(jsonWithBlobs(result));
      return { ok: isTrustedContent(result) ? plain : dataReply(plain) };
    }
    return { ok: { [CONTENT]: [blockOf(bytes, result instanceof Blob ? result.type : "", callable, root)] } };
  } catch (cause) {
    throw failed(cause, callable.ref);
  }
}

async function resultOf({ ref, action, key, service }: Callable, input: readonly unknown[]): Promise<unknown> {
  try {
    // `service.execute` checks that the action still exists, but passes only one input.
    return input.length > 1 ? await action.execute(...input) : await service.execute(key, input[0]);
  } catch (cause) {
    // From an actor that is offered as a service: its engine knows whether the call was applied.
    if (cause instanceof EngineError) throw cause;
    throw new EngineError("CRASHED", callerMessage(cause, ref), { applied: "unknown", cause });
  }
}

// The action has ended, and may have had its effects although its result is unusable.
function failed(cause: unknown, ref: OfferRef): EngineError {
  const code = cause instanceof EngineError ? cause.code : "CRASHED";
  return new EngineError(code, callerMessage(cause, ref), { applied: "unknown", cause });
}

// A typed block, since base64 text would mean nothing to a model.
function blockOf(bytes: Uint8Array, type: string, { path, key }: Callable, root: string): JsonObject {
  const mimeType = type === "" ? "application/octet-stream" : type;
  const data = toBase64(bytes);
  if (mimeType.startsWith("image/")) return { type: "image", data, mimeType };
  if (mimeType.startsWith("audio/")) return { type: "audio", data, mimeType };
  const uri = [root, ...[...path, "result", key].map((one) => encodeURIComponent(one.toWellFormed()))].join("/");
  return { type: "resource", resource: { uri, mimeType, blob: data } };
}

async function withDeadline<T>(
  { ref }: Callable,
  running: Promise<T>,
  { signal }: CallOptions,
  { clock, callMs }: CallSettings,
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void =>
    reject(
      new EngineError("CANCELLED", `${ref} was cancelled while it ran; look what it did before you call again.`, { applied: "unknown" }),
    );
  const timeOut = (): void =>
    reject(
      new EngineError(
        "WORK_TIMEOUT",
        `${ref} did not end within ${inWords(callMs)} and may still go on. Check what it did before you call again.`,
        {
          applied: "unknown",
        },
      ),
    );
  signal?.addEventListener("abort", abort, { once: true });
  const undo = Number.isFinite(callMs) ? clock.after(callMs, timeOut) : () => undefined;
  try {
    return await Promise.race([running, promise]);
  } finally {
    undo();
    signal?.removeEventListener("abort", abort);
    // After a timeout the action's failure is not awaited.
    running.catch(() => undefined);
  }
}

const ANSWER = "confirm";
const FORM: JsonObject = { type: "object", properties: { confirm: { type: "boolean", title: "Confirm" } }, required: ["confirm"] };

function questionOf(confirm: (args: JsonObject) => string | undefined, args: JsonObject, ref: OfferRef): string | undefined {
  try {
    return confirm(args);
  } catch (cause) {
    throw new EngineError("CRASHED", callerMessage(cause, ref), { cause });
  }
}

/** The question to confirm an action first, or a refusal if the answer was no. Undefined: go ahead. */
function confirmFirst({ ref, key, options }: Callable, args: JsonObject, { can, answers }: CallOptions): Reply | undefined {
  const confirm = options?.confirm;
  // Clients without elicitation ask their user before they call a tool.
  if (confirm === undefined || confirm === false || can?.includes("elicitation") !== true) return undefined;
  const text = confirm === true ? `Do ${key}?` : typeof confirm === "string" ? confirm : questionOf(confirm, args, ref);
  if (text === undefined) return undefined;
  const answer = answers?.[ANSWER];
  if (answer === undefined)
    return { needs: { [ANSWER]: { method: "elicitation/create", params: { message: text, requestedSchema: FORM } } } };
  const content = isJsonObject(answer) && answer["action"] === "accept" && isJsonObject(answer["content"]) ? answer["content"] : {};
  return content["confirm"] === true ? undefined : { refused: { code: "NOT_CONFIRMED", message: "Not confirmed." } };
}
