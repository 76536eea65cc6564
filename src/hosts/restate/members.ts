// Owns: leases of nodes in a map. Does not own: connections between nodes (hosts/cluster).
import type { Json, Member, Members } from "../../core/contract/index.ts";
import { isObject } from "./handler-inputs.ts";
import { LIST_ENTRIES } from "./paged-map.ts";
import type { MapClient } from "./map-client.ts";

/** Options of `restateMembers`. */
export interface MembersOptions {
  readonly maps: MapClient;
  /** Name of the map. Default "nodes". */
  readonly name?: string;
}

/** The nodes of a Restate server. Each has a lease by its own clock, so clocks must differ by less than a lease. At most 1,000. */
export function restateMembers({ maps, name = "nodes" }: MembersOptions): Members {
  const nodes = maps.shardedMap(name, 1);
  return {
    async seen({ node, url }, forMs) {
      const now = maps.now();
      await nodes.put(node, { url, until: now + forMs });
      const leases = (await nodes.list({ limit: LIST_ENTRIES })).flatMap(([other, value]) => leaseOf(other, value));
      // By `take` and not by name, so that a lease that was renewed since stays.
      if (leases.some(({ until }) => until < now)) await nodes.take({ before: now, field: "until" });
      return leases.flatMap(({ member, until }) => (until < now || member.node === node ? [] : [member]));
    },
    async left(node) {
      await nodes.delete(node);
    },
  };
}

function leaseOf(node: string, value: Json): readonly { readonly member: Member; readonly until: number }[] {
  if (!isObject(value)) return [];
  const { url, until } = value;
  return typeof url === "string" && typeof until === "number" ? [{ member: { node, url }, until }] : [];
}
