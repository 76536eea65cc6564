import { faults } from "../chain/internal.ts";
import type { ActorId, Store } from "../contract/index.ts";
import type { Host } from "./host.ts";
import type { Flight } from "./lead.ts";

/**
 * C2: the callers of a dropped lead are told, in order; what the store kept all the same has `landed`. Where the store may
 * have kept one, what it sends and is woken for is known there alone, and is read before anything later lands (C5).
 */
export async function tellDropped(
  id: ActorId,
  { store, unsure }: Pick<Host, "store" | "unsure">,
  flights: readonly Flight[],
  landed: (flight: Flight) => void,
): Promise<void> {
  let first: unknown;
  for (const flight of flights) {
    const kept = await isKept(store, flight);
    if (kept === true) {
      landed(flight);
      continue;
    }
    if (kept === "unknown") unsure();
    const { error } = flight;
    const told =
      kept === "unknown" ? faults.outcomeUnknown(id, error) : first === undefined ? faults.fromStore(error) : faults.notApplied(id, first);
    first ??= error;
    flight.job.fail(told);
    for (const rider of flight.riders ?? []) rider.dropped(faults.notApplied(id, error));
  }
}

/** A store that fails without a word of its own may have kept the entry all the same. */
async function isKept(store: Store | undefined, { outcome, error, entry }: Flight): Promise<boolean | "unknown"> {
  if (outcome === "kept") return true;
  if (faults.saysNothingKept(error)) return false;
  try {
    return (await store?.event(entry.event.id)) !== undefined;
  } catch {
    return "unknown";
  }
}
