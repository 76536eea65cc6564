// Owns: which work waits for which actor, and refusing a call that would wait in a circle (`CYCLE`).
// Does not own: the work itself (work.ts).
import { faults } from "../chain/internal.ts";
import type { ActorId } from "../contract/index.ts";

/** Which actor's work waits for a call to which other actor. A call that would close a cycle is refused (`CYCLE`) before it waits. */
export class WaitForGraph {
  readonly #targets = new Map<ActorId, Map<ActorId, number>>();

  /** Returns a function that ends the wait. */
  begin(from: ActorId, to: ActorId): () => void {
    if (this.#reaches(to, from)) throw faults.cycle(from, to);
    const targets = this.#targets.get(from) ?? new Map<ActorId, number>();
    this.#targets.set(from, targets);
    targets.set(to, (targets.get(to) ?? 0) + 1);
    return () => {
      const left = (targets.get(to) ?? 1) - 1;
      if (left > 0) targets.set(to, left);
      else targets.delete(to);
      if (targets.size === 0 && this.#targets.get(from) === targets) this.#targets.delete(from);
    };
  }

  #reaches(from: ActorId, goal: ActorId): boolean {
    const seen = new Set<ActorId>();
    const open = [from];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next === goal) return true;
      if (seen.has(next)) continue;
      seen.add(next);
      for (const target of this.#targets.get(next)?.keys() ?? []) open.push(target);
    }
    return false;
  }
}
