// Owns: starting, pausing, resuming and updating a guest. Does not own: what its start is made of (prepare.ts).
import type { Message, Outgoing, Turn } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { type GuestState, isDigest } from "../guest-state.ts";
import { messageOf } from "../wasm-error.ts";
import { type Handler, parseBeginning, refusal, type GuestRuntime, textArgument, programRefusal } from "./guest-runtime.ts";
import { runGuest } from "./run-guest.ts";

/** The state before `start` was applied; its id is empty. Never throws: the turn refuses an invalid start. */
export function initialGuestState(first: Message): GuestState {
  const beginning = parseBeginning(first);
  return {
    id: "",
    name: beginning?.name ?? "",
    manifest: beginning?.manifest ?? "",
    ...omitUndefined({ origin: beginning?.origin }),
    component: beginning?.component ?? "",
    state: beginning?.initialState ?? null,
    status: "running",
    ...omitUndefined({ parent: first.from, generation: beginning?.generation }),
    children: {},
    channels: {},
    outstanding: [],
  };
}

export const start: Handler = (runtime, delivery) => {
  const { message, uid } = delivery;
  if (delivery.state.id !== "")
    return refusal("ActorAlreadyExists", `${message.to} runs already: stop it first, or start the other one under another name.`);
  const beginning = parseBeginning(message);
  if (beginning === undefined)
    return refusal("INVALID", "This is no beginning of a guest: prepare its `start` from a manifest and a component.");
  const state: GuestState = { ...delivery.state, id: uid };
  const answer = { reply: { ok: { id: uid } } };
  if (beginning.resume) return async () => startFromState(runtime, { ...answer, state });
  return runGuest(runtime, delivery, {
    export: "actor.init",
    params: [uid],
    state,
    ifNotExported: refusal("INVALID", "The component exports no actor.init: build it for Theater's world."),
    isStart: true,
    answer: () => answer,
  });
};

/** Starts from a state without calling `init`, so only the program and the state can be invalid. */
async function startFromState(
  { programs }: GuestRuntime,
  turn: Turn<GuestState> & { readonly state: GuestState },
): Promise<Turn<GuestState>> {
  const { manifest, component, origin, state } = turn.state;
  try {
    await programs.program(manifest, component, origin);
    await programs.state(state);
    return turn;
  } catch (error) {
    return programRefusal(error);
  }
}

const messagesToChildren = (action: "pause" | "resume", { children }: GuestState): readonly Outgoing[] =>
  Object.values(children).map((to) => ({ to, action, args: action === "resume" ? { with: "parent" } : {} }));

/** Sent when its parent failed. A guest that is paused because of its own failure stays paused when its parent resumes. */
export const pause: Handler = (_, { message, state }) => {
  if (message.from !== undefined && message.from !== state.parent)
    return refusal("INVALID", "Only its parent pauses an actor: stop it instead.");
  if (state.status === "paused") return {};
  return async () => ({ state: { ...state, status: "paused" }, send: messagesToChildren("pause", state) });
};

/** Retains id and state, and does not call `init`. The instance is discarded with its globals. */
export const resume: Handler = (runtime, { message, state, self }) => {
  if (message.from !== undefined && message.from !== state.parent)
    return refusal("INVALID", "Only its parent restarts an actor: ask whoever operates it.");
  if (textArgument(message, "with") === "parent" && (state.failed !== undefined || state.status === "running")) return {};
  return async () => {
    runtime.instances.discard(self);
    // Discarding the globals may change later results, so an event records it.
    if (state.status === "running") return { record: { instance: "dropped" } };
    const { failed: _mended, ...rest } = state;
    return { state: { ...rest, status: "running" }, send: messagesToChildren("resume", state) };
  };
};

/** Replaces the component from the next message on. The state stays the same. */
export const update: Handler = (runtime, { message, state, self }) => {
  const component = textArgument(message, "component");
  if (!isDigest(component)) return refusal("INVALID", "A component is named by its digest in the content store.");
  if (message.from !== undefined) return refusal("INVALID", "Only an operator gives a guest another component.");
  return async () => {
    try {
      await runtime.programs.program(state.manifest, component, state.origin);
    } catch (error) {
      return refusal("INVALID", messageOf(error));
    }
    runtime.instances.discard(self);
    return component === state.component ? {} : { state: { ...state, component } };
  };
};
