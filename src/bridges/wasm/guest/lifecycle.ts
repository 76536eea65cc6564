import type { Message, Outgoing, Turn, Work } from "../../../core/contract/index.ts";
import type { GuestState } from "../guest-state.ts";
import { parseBeginning, type Delivery, refusal, type GuestRuntime, textArgument, programRefusal } from "./guest-runtime.ts";
import { runGuest } from "./run-guest.ts";
import type { Handler } from "./message-handlers.ts";

/** Before its `start` has been applied it has no id. Never throws: what makes no sense is refused by the turn, and nothing begins. */
export function initialGuestState(first: Message): GuestState {
  const beginning = parseBeginning(first);
  return {
    id: "",
    name: beginning?.name ?? "",
    manifest: beginning?.manifest ?? "",
    ...(beginning?.origin === undefined ? {} : { origin: beginning.origin }),
    component: beginning?.component ?? "",
    state: beginning?.initialState ?? null,
    status: "running",
    ...(first.from === undefined ? {} : { parent: first.from }),
    ...(beginning?.generation === undefined ? {} : { generation: beginning.generation }),
    children: {},
    channels: {},
    outstanding: [],
  };
}

export function start(room: GuestRuntime, at: Delivery): Turn<GuestState> | Work<GuestState> {
  const { message, uid } = at;
  if (at.state.id !== "")
    return refusal("ActorAlreadyExists", `${message.to} runs already: stop it first, or start the other one under another name.`);
  const beginning = parseBeginning(message);
  if (beginning === undefined)
    return refusal("INVALID", "This is no beginning of a guest: prepare its `start` from a manifest and a component.");
  const state: GuestState = { ...at.state, id: uid };
  const answer = { reply: { ok: { id: uid } } };
  if (beginning.resume) return async () => startFromState(room, { ...answer, state });
  return runGuest(room, at, {
    export: "actor.init",
    params: [uid],
    state,
    ifNotExported: refusal("INVALID", "The component exports no actor.init: build it for Theater's world."),
    isStart: true,
    answer: () => answer,
  });
}

/** It goes on from its state, and `init` has been: all that can be wrong now is what it is made of. */
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

/** Paused, resumed, made of something else: what happens to a guest without its doing. */

const messagesToChildren = (action: "pause" | "resume", { children }: GuestState): readonly Outgoing[] =>
  Object.values(children).map((to) => ({ to, action, args: action === "resume" ? { with: "parent" } : {} }));

/** Its parent failed. A guest that is paused for a failure of its own stays so when its parent goes on. */
export const pause: Handler = (_, { message, state }) => {
  if (message.from !== undefined && message.from !== state.parent)
    return refusal("INVALID", "Only its parent pauses an actor: stop it instead.");
  if (state.status === "paused") return {};
  return async () => ({ state: { ...state, status: "paused" }, send: messagesToChildren("pause", state) });
};

/** Keeps id and state; `init` does not run again. Its instance goes, and the globals in it. */
export const resume: Handler = (room, { message, state, self }) => {
  if (message.from !== undefined && message.from !== state.parent)
    return refusal("INVALID", "Only its parent restarts an actor: ask whoever operates it.");
  if (textArgument(message, "with") === "parent" && (state.failed !== undefined || state.status === "running")) return {};
  return async () => {
    room.instances.discard(self);
    // Its globals went with its instance: what follows may differ for that, so it has an event.
    if (state.status === "running") return { record: { instance: "dropped" } };
    const { failed: _mended, ...rest } = state;
    return { state: { ...rest, status: "running" }, send: messagesToChildren("resume", state) };
  };
};

/** From the next message on it is another component, with the same state. */
export const update: Handler = (room, { message, state, self }) => {
  const component = textArgument(message, "component");
  if (component === undefined || !/^[0-9a-f]{64}$/u.test(component))
    return refusal("INVALID", "A component is named by its digest in the content store.");
  if (message.from !== undefined) return refusal("INVALID", "Only an operator gives a guest another component.");
  return async () => {
    try {
      await room.programs.program(state.manifest, component, state.origin);
    } catch (error) {
      return refusal("INVALID", error instanceof Error ? error.message : String(error));
    }
    room.instances.discard(self);
    return component === state.component ? {} : { state: { ...state, component } };
  };
};
