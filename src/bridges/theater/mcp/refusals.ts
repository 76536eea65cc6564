// Owns: how errors become refusals of tools, resources and prompts. Does not own: the errors (stage.ts).
import type { Reply } from "../../../core/contract/index.ts";
import { type Stage, type StageCode, StageError } from "../stage.ts";
import { InvalidArgument } from "./arguments.ts";

type Refused = Extract<Reply, { refused: unknown }>;

/** The suggested next step, in terms of the available tools. */
const NEXT_STEPS: Readonly<Partial<Record<StageCode, string>>> = {
  ActorNotFound: "list_actors shows those there are.",
  ActorAlreadyExists: "Give another name, or stop_actor the one that has it.",
  ActorNotRunning: "get_actor shows its status.",
  ActorError: "get_events shows what happened.",
  ActorInitializationError: "Correct the manifest, the component or the initial_state, and call start_actor again.",
  ChannelNotFound: "open_channel opens one.",
  ChannelClosed: "open_channel opens another.",
  ChannelRejected: "send_message or request_message may be what it takes.",
  CommunicationError: "Before repeating what should happen once, see with get_events whether it did.",
  Timeout: "get_events shows whether it did.",
};

// Codes for which the actor itself may be paused.
const MAY_BE_PAUSED: ReadonlySet<StageCode> = new Set(["ActorError", "ActorNotRunning"]);

// A message that ends in an example, such as lines of a manifest, gets no full stop.
const sentence = (text: string): string => (/[.!?]$/.test(text) || text.includes("\n") ? text : `${text}.`);

/** A failure as a tool error: Theater's code, the reason and the next step. Rethrows unknown errors. */
export async function toolRefusal(stage: Pick<Stage, "actor">, error: unknown, actor: unknown): Promise<Refused> {
  if (error instanceof InvalidArgument) return { refused: { code: "INVALID", message: error.message } };
  if (!(error instanceof StageError)) throw error;
  const { code, message } = error;
  const why = sentence(message === "" ? code : message);
  const next = (MAY_BE_PAUSED.has(code) && typeof actor === "string" ? await pausedHint(stage, actor, why) : undefined) ?? NEXT_STEPS[code];
  const hint =
    next === undefined || why.includes("\n") || next.split(" ").some((word) => word.includes("_") && why.includes(word)) ? "" : ` ${next}`;
  return { refused: { code, message: `${code}: ${why}${hint}` } };
}

async function pausedHint(stage: Pick<Stage, "actor">, idOrName: string, why: string): Promise<string | undefined> {
  const details = await stage.actor(idOrName).catch(() => undefined);
  if (details?.status !== "PAUSED") return undefined;
  const resume = "restart_actor resumes it.";
  if (details.halted === undefined || why.includes("paused")) return resume;
  return `It is paused after event ${details.halted.after} (${details.halted.why.slice(0, 500)}); ${resume}`;
}

// A name that no stage accepts cannot exist either.
const NOT_FOUND_CODES: ReadonlySet<StageCode> = new Set(["ActorNotFound", "ChannelNotFound", "InvalidRequest"]);

/** Like `toolRefusal`, for a resource, which is UNKNOWN where it does not exist, or for a prompt, whose argument is INVALID then. */
export function contentRefusal(error: unknown, notFound: "UNKNOWN" | "INVALID"): Refused {
  if (error instanceof InvalidArgument) return { refused: { code: notFound, message: error.message } };
  if (!(error instanceof StageError)) throw error;
  const { code, message } = error;
  return { refused: { code: NOT_FOUND_CODES.has(code) ? notFound : code, message: `${code}: ${sentence(message)}` } };
}
