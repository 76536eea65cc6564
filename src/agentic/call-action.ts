import {
  type Bag,
  type CallOptions,
  type Clock,
  CONTENT,
  EngineError,
  isBag,
  type Json,
  type OfferRef,
  type Reply,
} from "../contract/index.ts";
import type { Action, AgenticService } from "./agentic-service.ts";
import type { ActionOptions } from "./options.ts";
import type { Signature } from "./parameters.ts";
import { toPlain } from "./plain-json.ts";

/** An action that is available now. */
export interface Callable {
  readonly ref: OfferRef;
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
}

const MAX_TEXT = 4_096;
// An action that says nothing has done what it should: clients want a block to read, and to be told so.
const DONE: Json = { [CONTENT]: [{ type: "text", text: "" }], isError: false };

/** Does it, with arguments that were checked. Throws `CRASHED` with the words of what the action threw, `WORK_TIMEOUT`, `CANCELLED`. */
export async function callAction(callable: Callable, args: Bag, options: CallOptions, settings: CallSettings): Promise<Reply> {
  const unconfirmed = askFirst(callable, args, options);
  if (unconfirmed !== undefined) return unconfirmed;
  const result = await inTime(callable, run(callable, args), options, settings);
  if (result === undefined) return { ok: DONE };
  if (typeof result === "string" && settings.text === "error")
    return { refused: { code: "REFUSED", message: result.slice(0, MAX_TEXT).toWellFormed() } };
  return { ok: toPlain(result) };
}

async function run({ ref, action, key, service, signature }: Callable, args: Bag): Promise<unknown> {
  const input = signature.input(args);
  try {
    // `service.execute` looks whether the action is still there, but hands over one input only.
    return input.length > 1 ? await action.execute(...input) : await service.execute(key, input[0]);
  } catch (cause) {
    throw new EngineError("CRASHED", wordsOf(cause, ref), { applied: "unknown", cause });
  }
}

// Its message is the service's own word to its caller, as a string it returns is.
function wordsOf(thrown: unknown, ref: OfferRef): string {
  const said = thrown instanceof Error ? thrown.message : thrown;
  return typeof said === "string" && said !== "" ? said.slice(0, MAX_TEXT).toWellFormed() : `${ref} failed without saying why.`;
}

async function inTime(
  { ref }: Callable,
  running: Promise<unknown>,
  { signal }: CallOptions,
  { clock, callMs }: CallSettings,
): Promise<unknown> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void =>
    reject(
      new EngineError("CANCELLED", `${ref} was cancelled while it ran; look what it did before you call again.`, { applied: "unknown" }),
    );
  const late = (): void =>
    reject(
      new EngineError("WORK_TIMEOUT", `${ref} did not end within ${callMs} ms and may still go on; look before you call again.`, {
        applied: "unknown",
      }),
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
const FORM: Bag = { type: "object", properties: { confirm: { type: "boolean", title: "Confirm" } }, required: ["confirm"] };

/** What stands between a call and an action that wants to be confirmed. Undefined: nothing. */
function askFirst({ key, options }: Callable, args: Bag, { can, answers }: CallOptions): Reply | undefined {
  const confirm = options?.confirm;
  // A client that cannot be asked has its own way to ask before a tool is called.
  if (confirm === undefined || confirm === false || can?.includes("elicitation") !== true) return undefined;
  const text = confirm === true ? `Do ${key}?` : typeof confirm === "string" ? confirm : confirm(args);
  if (text === undefined) return undefined;
  const answer = answers?.[ANSWER];
  if (answer === undefined)
    return { needs: { [ANSWER]: { method: "elicitation/create", params: { message: text, requestedSchema: FORM } } } };
  const content = isBag(answer) && answer["action"] === "accept" && isBag(answer["content"]) ? answer["content"] : {};
  return content["confirm"] === true ? undefined : { refused: { code: "NOT_CONFIRMED", message: "Not confirmed." } };
}
