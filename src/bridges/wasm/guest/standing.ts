/** Paused, resumed, made of something else: what happens to a guest without its doing. */
import type { Outgoing } from "../../../core/contract/index.ts";
import type { GuestState } from "../guest-state.ts";
import { textIn } from "./arguments.ts";
import type { Handler } from "./conversation.ts";
import { refused } from "./visit.ts";

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
