/** What becomes of children, as `supervisor-handlers` has it. */
import { type ActorId, isJsonObject } from "../../../core/contract/index.ts";
import type { GuestState } from "../guest-state.ts";
import { bytesIn, textIn } from "./arguments.ts";
import type { Handler } from "./conversation.ts";
import type { Entered } from "./room.ts";
import { runs } from "./run-guest.ts";
import { NULL } from "./visit.ts";

/** The UUID of the child that says so; undefined: it is none, or has ended and was told of. */
function childIn({ message, state }: Entered): string | undefined {
  const child = textIn(message, "child");
  if (child === undefined || child !== message.from) return undefined;
  return Object.entries(state.children).find(([, id]) => id === child)?.[0];
}

function without(state: GuestState, uid: string): GuestState {
  const { [uid]: _gone, ...children }: Readonly<Record<string, ActorId>> = state.children;
  return { ...state, children };
}

export const childError: Handler = (room, at) => {
  const { message, state } = at;
  const uid = childIn(at);
  if (uid === undefined) return {};
  const event = isJsonObject(message.args) ? message.args["event"] : null;
  const data = Buffer.from(JSON.stringify({ event: event ?? null, message: textIn(message, "message") ?? "" }));
  return runs(room, at, {
    export: "supervisor-handlers.handle-child-error",
    params: [uid, { "error-type": "internal", data: new Uint8Array(data) }],
    state,
    absent: {},
    answer: () => NULL,
  });
};

/** It shut down of itself. The engine tells the same afterwards, of a child that is none any more. */
export const childExit: Handler = (room, at) => {
  const uid = childIn(at);
  if (uid === undefined) return {};
  const state = without(at.state, uid);
  if (state.status === "paused") return { state };
  const call = { export: "supervisor-handlers.handle-child-exit", params: [uid, bytesIn(at.message, "data")] } as const;
  return runs(room, at, { ...call, state, absent: { state }, answer: () => NULL });
};

/** Somebody else stopped it. */
export const ended: Handler = (room, at) => {
  const uid = childIn(at);
  if (uid === undefined) return {};
  const state = without(at.state, uid);
  if (state.status === "paused") return { state };
  const call = { export: "supervisor-handlers.handle-child-external-stop", params: [uid] } as const;
  return runs(room, at, { ...call, state, absent: { state }, answer: () => NULL });
};
