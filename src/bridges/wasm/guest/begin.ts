import type { Message, Turn, Work } from "../../../core/contract/index.ts";
import type { GuestState } from "../guest-state.ts";
import { beginningIn } from "./arguments.ts";
import type { Entered, Room } from "./room.ts";
import { runs } from "./run-guest.ts";
import { refused, unfounded } from "./visit.ts";

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
