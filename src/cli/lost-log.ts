// Owns: that a store which a command opened had lost its database log. A file of its own, since every command loads it. Does not own: finding
// that out (core/store/log-loss.ts).
import type { LogLoss } from "../core/store/index.ts";

/** A database log that was missing or cut off. The command goes on, and ends with a message and exit code 5. */
interface LostLog {
  readonly code: string;
  readonly message: string;
}

let lostLog: LostLog | undefined;

const CODE = { "log-missing": "LOG_MISSING", "log-cut": "LOG_CUT" } as const;

/** Options for every store that a command opens. */
export const reportsLostLog = {
  onLostLog({ event, message }: LogLoss): void {
    lostLog = { code: CODE[event], message };
  },
};

/** Returns and clears it, since a process may run several commands. */
export const takeLostLog = (): LostLog | undefined => {
  const loss = lostLog;
  lostLog = undefined;
  return loss;
};
