// The counter as a Behaviour without actor(), to measure the engine alone.
import { DEFAULT_POLICY, type Behaviour, type Json, type Policy } from "troupe/contract";

interface Count {
  readonly count: number;
}

export const plain = (persistence: Policy["persistence"]): Behaviour<Count> => ({
  kind: persistence === "memory" ? "plain" : "plain-disk",
  version: 1,
  policy: { ...DEFAULT_POLICY, persistence, mailbox: 100_000 },
  initial: () => ({ count: 0 }),
  receive(state, message) {
    // Commits only the first state.
    if (message.action === "begin") return { reply: { ok: null } };
    const by: Json = message.args;
    const count = state.count + (typeof by === "object" && by !== null && "by" in by && typeof by["by"] === "number" ? by["by"] : 1);
    return { state: { count }, reply: { ok: count } };
  },
});
