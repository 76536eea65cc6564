import type { LogLoss } from "../core/store/index.ts";

/** What a command found missing: it does its work all the same, and then says so and ends with exit code 5. */
export interface NotedLoss {
  readonly code: string;
  readonly message: string;
}

let noted: NotedLoss | undefined;

const noteLoss = (loss: NotedLoss): void => {
  noted = loss;
};

const CODE = { "log-missing": "LOG_MISSING", "log-cut": "LOG_CUT" } as const;

/** For whatever a command opens. */
export const notesLoss = {
  onLostLog: ({ event, message }: LogLoss): void => noteLoss({ code: CODE[event], message }),
};

/** Once: a process may run another command. */
export const takeLoss = (): NotedLoss | undefined => {
  const loss = noted;
  noted = undefined;
  return loss;
};
