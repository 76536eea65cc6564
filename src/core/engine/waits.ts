import type { ActorId } from "../contract/index.ts";
import { faults } from "../chain/internal.ts";

/** Which actor's work waits for which: a call that would close a ring is refused (`CYCLE`) before it waits. */
export class Waits {
  readonly #for = new Map<ActorId, Map<ActorId, number>>();

  /** Returns the undo. */
  begin(from: ActorId, to: ActorId): () => void {
    if (this.#reaches(to, from)) throw faults.cycle(from, to);
    const targets = this.#for.get(from) ?? new Map<ActorId, number>();
    this.#for.set(from, targets);
    targets.set(to, (targets.get(to) ?? 0) + 1);
    return () => {
      const left = (targets.get(to) ?? 1) - 1;
      if (left > 0) targets.set(to, left);
      else targets.delete(to);
      if (targets.size === 0 && this.#for.get(from) === targets) this.#for.delete(from);
    };
  }

  #reaches(from: ActorId, goal: ActorId): boolean {
    const seen = new Set<ActorId>();
    const open = [from];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next === goal) return true;
      if (seen.has(next)) continue;
      seen.add(next);
      for (const target of this.#for.get(next)?.keys() ?? []) open.push(target);
    }
    return false;
  }
}
