import type { Message } from "../contract/index.ts";
import type { DurableContext, DurableReader } from "./durable-context.ts";

/** Where a run is cut: at its nth step, before or after what the step gave was kept. */
export interface Cut {
  readonly step: number;
  readonly kept: boolean;
}

class CutOff extends Error {}

/** One actor's keys, and turns on them as a durable engine runs them: from the top after each cut, journalled steps once. Everything is kept as text. */
export class Journal implements DurableReader {
  readonly keys = new Map<string, string>();
  readonly sent: Message[] = [];
  /** How many different keys each turn wrote. */
  readonly writes: number[] = [];
  clockMs = 1_000;

  async get(name: string): Promise<unknown> {
    const text = this.keys.get(name);
    return text === undefined ? null : JSON.parse(text);
  }

  /** `cut` ends the first run; the second finds what was journalled. Returns the steps of the last run. */
  async turn<T>(run: (context: DurableContext) => Promise<T>, cut?: Cut): Promise<{ readonly outcome: T; readonly steps: number }> {
    const journal: string[] = [];
    for (const at of cut === undefined ? [undefined] : [cut, undefined]) {
      const written = new Map<string, string>();
      const sent: Message[] = [];
      let steps = 0;
      const step = async (make: () => unknown): Promise<unknown> => {
        const index = steps++;
        if (index === at?.step && !at.kept) throw new CutOff();
        journal[index] ??= JSON.stringify({ value: await make() });
        if (index === at?.step) throw new CutOff();
        const { value }: { value: unknown } = JSON.parse(journal[index] ?? "");
        return value;
      };
      try {
        const outcome = await run({
          get: (name) => step(() => this.get(name)),
          set: (name, value) => void written.set(name, JSON.stringify(value)),
          run: (_, action) => step(action),
          now: async () => Number(await step(() => this.clockMs++)),
          send: (message) => void sent.push(message),
        });
        for (const [name, text] of written) this.keys.set(name, text);
        this.sent.push(...sent);
        this.writes.push(written.size);
        return { outcome, steps };
      } catch (error) {
        if (!(error instanceof CutOff)) throw error;
      }
    }
    throw new RangeError("A second cut.");
  }
}
