import {
  type JsonObject,
  type CallOptions,
  type Clock,
  CONTENT,
  EngineError,
  isJsonObject,
  type Json,
  type OfferRef,
  type Reply,
} from "../../core/contract/index.ts";
import { inWords } from "../../core/contract/internal.ts";
import type { Action, AgenticService } from "./agentic-service.ts";
import { bytesOf, toBase64, bytesIn, filled, MAX_VALUE_LENGTH, isFromActor, toReply, plainOf } from "./json-values.ts";
import type { ActionOptions } from "./options.ts";
import type { Signature } from "./parameters.ts";
import { wordsOf } from "./faults.ts";

/** An action that is available now. */
export interface Callable {
  readonly ref: OfferRef;
  /** The links that lead to its service. */
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
  /** What the service's URIs begin with. */
  readonly root: string;
}

// An action that says nothing has done what it should: clients want a block to read, and to be told so.
export const DONE: Json = { [CONTENT]: [{ type: "text", text: "" }], isError: false };

/**
 * Does it, with arguments that were checked. Throws `CRASHED` with the words of what the action threw, or of why what it
 * returned cannot be told; `STATE_TOO_LARGE`, `WORK_TIMEOUT`, `CANCELLED`.
 */
export async function callAction(callable: Callable, args: JsonObject, options: CallOptions, settings: CallSettings): Promise<Reply> {
  const input = callable.signature.input(args);
  if ("wrong" in input) return { refused: { code: "INVALID", message: input.wrong } };
  const unconfirmed = askFirst(callable, args, options);
  if (unconfirmed !== undefined) return unconfirmed;
  return inTime(callable, run(callable, input.values, settings), options, settings);
}

async function run(callable: Callable, input: readonly unknown[], { text, root }: CallSettings): Promise<Reply> {
  const result = await resultOf(callable, input);
  if (result === undefined) return { ok: DONE };
  if (typeof result === "string" && text === "error")
    return { refused: { code: "REFUSED", message: result.slice(0, MAX_VALUE_LENGTH).toWellFormed() } };
  try {
    const bytes = result instanceof Blob ? await bytesIn(result) : bytesOf(result);
    if (bytes === undefined) {
      const plain = await filled(plainOf(result));
      return { ok: isFromActor(result) ? plain : toReply(plain) };
    }
    return { ok: { [CONTENT]: [blockOf(bytes, result instanceof Blob ? result.type : "", callable, root)] } };
  } catch (cause) {
    throw failed(cause, callable.ref);
  }
}

async function resultOf({ ref, action, key, service }: Callable, input: readonly unknown[]): Promise<unknown> {
  try {
    // `service.execute` looks whether the action is still there, but hands over one input only.
    return input.length > 1 ? await action.execute(...input) : await service.execute(key, input[0]);
  } catch (cause) {
    // Of an actor behind the service, whose engine knows whether the call was applied.
    if (cause instanceof EngineError) throw cause;
    throw new EngineError("CRASHED", wordsOf(cause, ref), { applied: "unknown", cause });
  }
}

// The action is over by then: what could not be told of may well be done.
function failed(cause: unknown, ref: OfferRef): EngineError {
  const code = cause instanceof EngineError ? cause.code : "CRASHED";
  return new EngineError(code, wordsOf(cause, ref), { applied: "unknown", cause });
}

// As text bytes would be letters that mean nothing to a model, of a kind that nobody names.
function blockOf(bytes: Uint8Array, type: string, { path, key }: Callable, root: string): JsonObject {
  const mimeType = type === "" ? "application/octet-stream" : type;
  const data = toBase64(bytes);
  if (mimeType.startsWith("image/")) return { type: "image", data, mimeType };
  if (mimeType.startsWith("audio/")) return { type: "audio", data, mimeType };
  const uri = [root, ...[...path, "result", key].map((one) => encodeURIComponent(one.toWellFormed()))].join("/");
  return { type: "resource", resource: { uri, mimeType, blob: data } };
}

async function inTime<T>({ ref }: Callable, running: Promise<T>, { signal }: CallOptions, { clock, callMs }: CallSettings): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void =>
    reject(
      new EngineError("CANCELLED", `${ref} was cancelled while it ran; look what it did before you call again.`, { applied: "unknown" }),
    );
  const late = (): void =>
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
  const undo = Number.isFinite(callMs) ? clock.after(callMs, late) : () => undefined;
  try {
    return await Promise.race([running, promise]);
  } finally {
    undo();
    signal?.removeEventListener("abort", abort);
    // Nobody waits for it any more.
    running.catch(() => undefined);
  }
}

const ANSWER = "confirm";
const FORM: JsonObject = { type: "object", properties: { confirm: { type: "boolean", title: "Confirm" } }, required: ["confirm"] };

function questionOf(confirm: (args: JsonObject) => string | undefined, args: JsonObject, ref: OfferRef): string | undefined {
  try {
    return confirm(args);
  } catch (cause) {
    throw new EngineError("CRASHED", wordsOf(cause, ref), { cause });
  }
}

/** What stands between a call and an action that wants to be confirmed. Undefined: nothing. */
function askFirst({ ref, key, options }: Callable, args: JsonObject, { can, answers }: CallOptions): Reply | undefined {
  const confirm = options?.confirm;
  // A client that cannot be asked has its own way to ask before a tool is called.
  if (confirm === undefined || confirm === false || can?.includes("elicitation") !== true) return undefined;
  const text = confirm === true ? `Do ${key}?` : typeof confirm === "string" ? confirm : questionOf(confirm, args, ref);
  if (text === undefined) return undefined;
  const answer = answers?.[ANSWER];
  if (answer === undefined)
    return { needs: { [ANSWER]: { method: "elicitation/create", params: { message: text, requestedSchema: FORM } } } };
  const content = isJsonObject(answer) && answer["action"] === "accept" && isJsonObject(answer["content"]) ? answer["content"] : {};
  return content["confirm"] === true ? undefined : { refused: { code: "NOT_CONFIRMED", message: "Not confirmed." } };
}
