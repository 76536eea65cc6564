import { isJsonObject, type Snapshot } from "../../../core/contract/index.ts";
import { GUEST, type GuestState } from "../../wasm/index.ts";

/** A guest's stored state; undefined if the actor is not a guest. */
export function guestStateOf({ id, state }: Pick<Snapshot, "id" | "state">): GuestState | undefined {
  if (!id.startsWith(`${GUEST}/`) || !isJsonObject(state)) return undefined;
  return isGuestState(state) ? state : undefined;
}

const isGuestState = (state: Readonly<Record<string, unknown>>): state is Readonly<Record<string, unknown>> & GuestState =>
  typeof state["name"] === "string" && typeof state["manifest"] === "string" && typeof state["status"] === "string";
