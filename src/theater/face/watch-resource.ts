import type { Bag, Viewer } from "../../contract/index.ts";
import { ENTRY } from "./listing.ts";
import type { Probes } from "./probes.ts";
import { follow } from "./subject.ts";
import type { Backstage } from "./tool.ts";

const NOTHING = (): void => undefined;

const textIn = (args: Bag, name: string): string | undefined => {
  const value = args[name];
  return typeof value === "string" ? value : undefined;
};

/** Told when what the resource shows may have changed. Returns its undo. */
export function watchResource(
  backstage: Backstage & { readonly probes: Probes },
  name: string,
  args: Bag,
  viewer: Viewer,
  told: () => void,
): () => void {
  const { stage, hints, probes, channels } = backstage;
  const actor = name.startsWith(ENTRY) ? name.slice(ENTRY.length) : textIn(args, "actor_id");
  if (name === "actors") return watchActors(backstage, told);
  // What was before an event does not change.
  if (name === "earlier") return NOTHING;
  if (actor !== undefined) return follow(stage, hints, actor, told);
  const event = textIn(args, "event_id");
  // An event stays as it is; what follows from it may be in any chain.
  if (event !== undefined) return probes.add(async () => ((await stage.event(event))?.children ?? []).join(" "), told);
  const channel = textIn(args, "channel_id");
  return (channel === undefined ? undefined : channels.find(viewer, channel))?.listen(told) ?? NOTHING;
}

function watchActors({ stage, hints, limits, probes }: Backstage & { readonly probes: Probes }, told: () => void): () => void {
  const undo = [
    hints.all(({ what }) => what !== "changed" && told()),
    // That a status changed, no hint says.
    probes.add(async () => (await stage.list(limits.listed)).map(({ id, status }) => `${id} ${status}`).join(" "), told),
  ];
  return () => {
    for (const one of undo) one();
  };
}
