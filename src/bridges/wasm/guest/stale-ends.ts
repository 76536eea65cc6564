/** Channels whose other end is gone: another process held it, or an actor that is no more. */
import type { ActorId, Outgoing } from "../../../core/contract/index.ts";
import type { GuestState } from "../guest-state.ts";

/** No process has this name: the end's close is on its way to the guest, and need not be sent again. */
const CLOSING = { host: "" };

/** `process`: the `host` of ends in this one. `gone`: found to be with an actor that is no more. */
export const staleIn = (
  channels: GuestState["channels"],
  { process, gone }: { readonly process: string; readonly gone: ReadonlySet<string> },
): readonly string[] =>
  Object.entries(channels)
    .filter(([channel, end]) => ("actor" in end ? gone.has(channel) : end.host !== process && end.host !== CLOSING.host))
    .map(([channel]) => channel);

export const marked = (state: GuestState, stale: readonly string[]): GuestState =>
  stale.length === 0
    ? state
    : { ...state, channels: { ...state.channels, ...Object.fromEntries(stale.map((channel) => [channel, CLOSING])) } };

/** The guest is told as of any close. */
export const toClose = (self: ActorId, channel: string): Outgoing => ({
  to: self,
  action: "channel-close",
  args: { channel, why: "whoever was at the other end is gone" },
});

/** Its other end closes it if it does not have it. */
export const toCheck = ([channel, to]: readonly [string, ActorId]): Outgoing => ({ to, action: "channel-check", args: { channel } });
