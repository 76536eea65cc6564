import type { StageCode } from "../stage.ts";
import { caseOf, Fields } from "./fields.ts";
import type { Printable } from "./print-json.ts";
import type { WireValue } from "./wire-json.ts";

/** An error as the protocol has it. */
export interface Fault {
  readonly code: StageCode;
  readonly message: string;
}

/** Whether the protocol's error variant holds a message. */
const HAS_MESSAGE: Readonly<Record<StageCode, boolean>> = {
  ActorNotFound: false,
  ActorAlreadyExists: false,
  ActorNotRunning: false,
  ActorError: true,
  ActorInitializationError: true,
  ChannelNotFound: false,
  ChannelClosed: false,
  ChannelRejected: false,
  StoreError: true,
  CommunicationError: true,
  InvalidRequest: true,
  Timeout: false,
  RuntimeError: true,
  InternalError: true,
  SerializationError: true,
};

const isCode = (name: string): name is StageCode => Object.hasOwn(HAS_MESSAGE, name);

/** Messages of servers of April 2025 for errors that have had a code since. */
const OLD_MESSAGES: readonly (readonly [RegExp, StageCode])[] = [
  [/channel[^.]*reject/i, "ChannelRejected"],
  [/channel[^.]*not found/i, "ChannelNotFound"],
  [/actor[^.]*not found/i, "ActorNotFound"],
  [/not running|paused/i, "ActorNotRunning"],
];

/**
 * One shape for clients of all versions, since they ignore unknown fields: `error` for those since May 2025, `message` for older ones.
 * Clients of June 2025 do not know `ActorInitializationError`, so it is sent as `RuntimeError` with an additional `code`.
 */
export function printFault({ code, message }: Fault): Printable {
  const sentCode = code === "ActorInitializationError" ? "RuntimeError" : code;
  return { error: HAS_MESSAGE[sentCode] ? { [sentCode]: message } : sentCode, message, code: sentCode === code ? undefined : code };
}

/** Reads an error of any server. Unknown errors become `RuntimeError`. */
export function readFault(value: WireValue | undefined, of: string): Fault {
  const fields = new Fields(of, value);
  const sentMessage = fields.textOrNull("message");
  if (!fields.has("error")) {
    const code = OLD_MESSAGES.find(([pattern]) => pattern.test(sentMessage ?? ""))?.[1] ?? "RuntimeError";
    return { code, message: sentMessage ?? "The server did not say why." };
  }
  const [variant, content] = caseOf(fields.value("error"), `${of}.error`);
  const code = fields.textOrNull("code") ?? variant;
  const message = typeof content === "string" ? content : (sentMessage ?? `The server says ${variant}.`);
  return { code: isCode(code) ? code : "RuntimeError", message };
}
