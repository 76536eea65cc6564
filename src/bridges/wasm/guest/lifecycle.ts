import type { Message, Outgoing, Turn, Work } from "../../../core/contract/index.ts";
import type { GuestState } from "../guest-state.ts";
import { beginningIn, type Entered, refused, type Room, textIn, unfounded } from "./guest-context.ts";
import { runs } from "./run-guest.ts";
import type { Handler } from "./message-handlers.ts";

/** Before its `start` has been applied it has no id. Never throws: what makes no sense is refused by the turn, and nothing begins. */
export function unbegun(first: Message): GuestState {
  const beginning = beginningIn(first);
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

export function begin(room: Room, at: Entered): Turn<GuestState> | Work<GuestState> {
  const { message, uid } = at;
  if (at.state.id !== "")
    return refused("ActorAlreadyExists", `${message.to} runs already: stop it first, or start the other one under another name.`);
  const beginning = beginningIn(message);
  if (beginning === undefined)
    return refused("INVALID", "This is no beginning of a guest: prepare its `start` from a manifest and a component.");
  const state: GuestState = { ...at.state, id: uid };
  const answer = { reply: { ok: { id: uid } } };
  if (beginning.resume) return async () => resumed(room, { ...answer, state });
  return runs(room, at, {
    export: "actor.init",
    params: [uid],
    state,
    absent: refused("INVALID", "The component exports no actor.init: build it for Theater's world."),
    begins: true,
    answer: () => answer,
  });
}

/** It goes on from its state, and `init` has been: all that can be wrong now is what it is made of. */
async function resumed({ library }: Room, turn: Turn<GuestState> & { readonly state: GuestState }): Promise<Turn<GuestState>> {
  const { manifest, component, origin, state } = turn.state;
  try {
    await library.program(manifest, component, origin);
    await library.state(state);
    return turn;
  } catch (error) {
    return unfounded(error);
  }
}

/** Paused, resumed, made of something else: what happens to a guest without its doing. */

const toChildren = (action: "pause" | "resume", { children }: GuestState): readonly Outgoing[] =>
  Object.values(children).map((to) => ({ to, action, args: action === "resume" ? { with: "parent" } : {} }));

/** Its parent failed. A guest that is paused for a failure of its own stays so when its parent goes on. */
export const pause: Handler = (_, { message, state }) => {
  if (message.from !== undefined && message.from !== state.parent)
    return refused("INVALID", "Only its parent pauses an actor: stop it instead.");
  if (state.status === "paused") return {};
  return async () => ({ state: { ...state, status: "paused" }, send: toChildren("pause", state) });
};

/** Keeps id and state; `init` does not run again. Its instance goes, and the globals in it. */
export const resume: Handler = (room, { message, state, self }) => {
  if (message.from !== undefined && message.from !== state.parent)
    return refused("INVALID", "Only its parent restarts an actor: ask whoever operates it.");
  if (textIn(message, "with") === "parent" && (state.failed !== undefined || state.status === "running")) return {};
  return async () => {
    room.ran.forget(self);
    // Its globals went with its instance: what follows may differ for that, so it has an event.
    if (state.status === "running") return { record: { instance: "dropped" } };
    const { failed: _mended, ...rest } = state;
    return { state: { ...rest, status: "running" }, send: toChildren("resume", state) };
  };
};

/** From the next message on it is another component, with the same state. */
export const update: Handler = (room, { message, state, self }) => {
  const component = textIn(message, "component");
  if (component === undefined || !/^[0-9a-f]{64}$/u.test(component))
    return refused("INVALID", "A component is named by its digest in the content store.");
  if (message.from !== undefined) return refused("INVALID", "Only an operator gives a guest another component.");
  return async () => {
    try {
      await room.library.program(state.manifest, component, state.origin);
    } catch (error) {
      return refused("INVALID", error instanceof Error ? error.message : String(error));
    }
    room.ran.forget(self);
    return component === state.component ? {} : { state: { ...state, component } };
  };
};
