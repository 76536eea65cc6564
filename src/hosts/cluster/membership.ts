// Owns: this node's lease in the registry, and which other nodes the registry lists. Does not own: connections to them
// (cluster-node.ts).
import type { Member } from "../../core/contract/index.ts";
import { withTimeout } from "../../core/contract/internal.ts";
import { nameOf, isNodeName, type ClusterOptions, type Settings, peerUrl } from "./cluster-options.ts";

/** Renews this node's lease in the registry and reports the other nodes. If the registry does not answer, nothing changes. */
export class Membership {
  readonly #settings: Settings;
  readonly #members: ClusterOptions["members"];
  readonly #listed: (others: readonly Member[]) => void;
  #undo: (() => void) | undefined;
  #stopped = false;
  #failing = false;

  constructor(settings: Settings, members: ClusterOptions["members"], listed: (others: readonly Member[]) => void) {
    this.#settings = settings;
    this.#members = members;
    this.#listed = listed;
  }

  /** Renews once, and schedules the next renewal. Never rejects. */
  async renew(): Promise<void> {
    const { self, url, clock, limits, log } = this.#settings;
    const every = Math.max(1, Math.floor(limits.forMs / 3));
    try {
      const found: unknown = await withTimeout(clock, every, this.#members.seen({ node: self, url }, limits.forMs), noAnswer);
      this.#failing = false;
      if (!this.#stopped) this.#listed(this.#others(found));
    } catch (error) {
      if (!this.#failing) log("warning", { event: "members-unreachable", name: nameOf(error) });
      this.#failing = true;
    }
    if (!this.#stopped) this.#undo = clock.after(every, () => void this.renew());
  }

  /** Never rejects: a lease that cannot be given back expires. */
  async leave(): Promise<void> {
    const { self, clock, limits, log } = this.#settings;
    this.#stopped = true;
    this.#undo?.();
    try {
      await withTimeout(clock, limits.greetMs, this.#members.left(self), noAnswer);
    } catch (error) {
      log("warning", { event: "members-unreachable", name: nameOf(error) });
    }
  }

  #others(found: unknown): readonly Member[] {
    const others: Member[] = [];
    if (!Array.isArray(found)) return others;
    for (const entry of found.slice(0, 2 * this.#settings.limits.peers)) {
      const member: unknown = entry;
      if (typeof member !== "object" || member === null || !("node" in member) || !("url" in member)) continue;
      const url = peerUrl(member.url);
      if (isNodeName(member.node) && member.node !== this.#settings.self && url !== undefined) others.push({ node: member.node, url });
    }
    return others;
  }
}

const noAnswer = (): never => {
  throw new RangeError("The store of members did not answer in time.");
};
